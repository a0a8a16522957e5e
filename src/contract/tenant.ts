import { CHANGE_NAMES, CHANGES, ENTITY_ID, NAME, TIME } from './patterns.ts';
import { type Infer, object, readOnly } from './schema.ts';

/** Tenant Settings (§2.7). Booleans are strings. */
export const TENANT_SETTINGS = {
  description: 'The settings of the tenant.',
  ...object([], {
    deduplicate_tokens: {
      enum: ['true', 'false'],
      description: 'Whether tokens are deduplicated on creation and update.',
    },
  }),
} as const;

/** The Tenant (§2.7). */
export const TENANT = object(['id', 'owner_id', 'name', 'settings'], {
  id: { ...ENTITY_ID, description: 'The id of the tenant.' },
  owner_id: { ...ENTITY_ID, description: 'The id of the owner, which the vault assigns when the tenant is created.' },
  name: { ...NAME, description: 'The display name of the tenant.' },
  settings: TENANT_SETTINGS,
  ...CHANGES,
});

export const UPDATE_TENANT = object(['name'], {
  name: { ...NAME, description: 'The display name of the tenant.' },
  settings: { ...TENANT_SETTINGS, description: 'The new settings; unchanged by default.' },
  ...readOnly(TENANT.properties, ['id', 'owner_id', ...CHANGE_NAMES]),
});

export type Tenant = Infer<typeof TENANT>;
export type TenantSettings = Infer<typeof TENANT_SETTINGS>;

/** The Tenant Usage Report (§2.8). */
export const USAGE_REPORT = object(['token_report'], {
  token_report: {
    description: 'The tokens of the tenant.',
    ...object(['metrics_by_type', 'included_monthly_active_tokens', 'monthly_active_tokens'], {
      metrics_by_type: {
        type: 'object',
        description:
          'The number of tokens (`count`) and the creation time of the newest token (`last_created_at`), by token type.',
        additionalProperties: object(['count'], {
          count: { type: 'integer', minimum: 0, description: 'The number of tokens.' },
          last_created_at: { ...TIME, description: 'The creation time of the newest token.' },
        }),
      },
      included_monthly_active_tokens: {
        type: 'integer',
        minimum: 0,
        description:
          'The number of active tokens included each month, as set with `vault serve --included-active-tokens`.',
      },
      monthly_active_tokens: {
        type: 'integer',
        minimum: 0,
        description: 'The number of tokens created or shown in this calendar month (UTC), including deleted ones.',
      },
    }),
  },
});

/** The maximum number of months in a report. The vault keeps older counts, too. */
const MAX_MONTHS = 36;

export const ACTIVITY_QUERY = object([], {
  months: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_MONTHS,
    default: 12,
    description: 'The number of calendar months (UTC), including this one.',
  },
});

/** Active tokens by month. */
export const ACTIVITY = object(['months'], {
  months: {
    type: 'array',
    description: 'The months, the oldest first.',
    items: object(['month', 'active_tokens'], {
      month: { type: 'string', pattern: '^\\d{4}-\\d{2}$', description: 'The month, such as 2026-03.' },
      active_tokens: {
        type: 'integer',
        minimum: 0,
        description: 'The number of tokens created or shown in the month, including deleted ones.',
      },
    }),
  },
});
