import { CHANGES, ENTITY_ID, NAME, TIME } from './patterns.ts';
import type { Infer } from './schema.ts';

/** Tenant Settings (§2.7). Booleans are text. */
export const TENANT_SETTINGS = {
  type: 'object',
  description: 'The settings of the tenant.',
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
    id: { ...ENTITY_ID, description: 'The id of the tenant.' },
    owner_id: { ...ENTITY_ID, description: 'The id of its first management application.' },
    name: { ...NAME, description: 'The display name of the tenant.' },
    settings: TENANT_SETTINGS,
    ...CHANGES,
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
      description: 'The tokens of the tenant.',
      required: ['metrics_by_type', 'included_monthly_active_tokens', 'monthly_active_tokens'],
      additionalProperties: false,
      properties: {
        metrics_by_type: {
          type: 'object',
          description:
            'How many tokens there are (`count`) and when the newest was created (`last_created_at`), by token type.',
          additionalProperties: {
            type: 'object',
            required: ['count'],
            additionalProperties: false,
            properties: {
              count: { type: 'integer', minimum: 0, description: 'How many tokens there are.' },
              last_created_at: { ...TIME, description: 'When the newest of them was created.' },
            },
          },
        },
        included_monthly_active_tokens: {
          type: 'integer',
          minimum: 0,
          description: 'Active tokens of a month that are included; `vault serve --included-active-tokens` sets it.',
        },
        monthly_active_tokens: {
          type: 'integer',
          minimum: 0,
          description: 'Tokens created or shown in this calendar month (UTC), deleted ones included.',
        },
      },
    },
  },
} as const;

/** How many months are shown at most: the counts of older ones are kept, too. */
const MAX_MONTHS = 36;

export const ACTIVITY_QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    months: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_MONTHS,
      default: 12,
      description: 'How many calendar months (UTC) to show, this one included.',
    },
  },
} as const;

/** Active tokens of the last months. */
export const ACTIVITY = {
  type: 'object',
  required: ['months'],
  additionalProperties: false,
  properties: {
    months: {
      type: 'array',
      description: 'The months, the oldest first.',
      items: {
        type: 'object',
        required: ['month', 'active_tokens'],
        additionalProperties: false,
        properties: {
          month: { type: 'string', pattern: '^\\d{4}-\\d{2}$', description: 'The month, such as 2026-03.' },
          active_tokens: {
            type: 'integer',
            minimum: 0,
            description: 'Tokens created or shown in the month, deleted ones included.',
          },
        },
      },
    },
  },
} as const;
