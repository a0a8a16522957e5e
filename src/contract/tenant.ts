import { ENTITY_ID, NAME, TIME } from './patterns.ts';
import type { Infer } from './schema.ts';

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
    name: { ...NAME, description: 'The display name of the tenant.' },
    settings: { ...TENANT_SETTINGS, description: 'The settings from now on; without it they stay.' },
  },
} as const;

export type Tenant = Infer<typeof TENANT>;
export type TenantSettings = Infer<typeof TENANT_SETTINGS>;

/** The Tenant Usage Report (§2.8). */
export const USAGE_REPORT = {
  type: 'object',
  required: ['token_report'],
  additionalProperties: false,
  properties: {
    token_report: {
      type: 'object',
      required: ['metrics_by_type', 'included_monthly_active_tokens', 'monthly_active_tokens'],
      additionalProperties: false,
      properties: {
        metrics_by_type: {
          type: 'object',
          description: 'By token type.',
          additionalProperties: {
            type: 'object',
            required: ['count'],
            additionalProperties: false,
            properties: { count: { type: 'integer', minimum: 0 }, last_created_at: TIME },
          },
        },
        included_monthly_active_tokens: { type: 'integer', minimum: 0 },
        monthly_active_tokens: {
          type: 'integer',
          minimum: 0,
          description: 'Tokens created or shown in this calendar month (UTC), deleted ones included.',
        },
      },
    },
  },
} as const;
