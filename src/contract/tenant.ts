import type { Infer } from './schema.ts';
import { ENTITY_ID, NAME, TIME } from './text.ts';

/** Tenant Settings (§2.7). Booleans are text. */
export const TENANT_SETTINGS = {
  type: 'object',
  additionalProperties: false,
  properties: {
    deduplicate_tokens: {
      enum: ['true', 'false'],
      description: 'Whether tokens are deduplicated on creation and update.',
    },
  },
} as const;

/** The Tenant (§2.7). */
export const TENANT = {
  type: 'object',
  required: ['id', 'owner_id', 'name', 'settings'],
  additionalProperties: false,
  properties: {
    id: ENTITY_ID,
    owner_id: ENTITY_ID,
    name: NAME,
    settings: TENANT_SETTINGS,
    created_by: ENTITY_ID,
    created_at: TIME,
    modified_by: ENTITY_ID,
    modified_at: TIME,
  },
} as const;

export const UPDATE_TENANT = {
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: {
    name: { ...NAME, description: 'What people call the tenant.' },
    settings: { ...TENANT_SETTINGS, description: 'The settings from now on; without it they stay.' },
  },
} as const;

export type Tenant = Infer<typeof TENANT>;
export type TenantSettings = Infer<typeof TENANT_SETTINGS>;
