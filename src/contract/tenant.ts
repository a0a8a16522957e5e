import type { Operation } from './operations.ts';
import { CHANGE_NAMES, CHANGES, ENTITY_ID, type Infer, NAME, object, readOnly, TIME } from './schema.ts';
import { TOKEN_TYPES } from './token-types.ts';

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

const ACTIVITY_QUERY = object([], {
  months: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_MONTHS,
    default: 12,
    description: 'The number of calendar months (UTC), including this one.',
  },
});

/** Active tokens by month. */
const ACTIVITY = object(['months'], {
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

const TENANT_COLUMNS = ['id', 'name', 'owner_id', 'settings', 'created_at'] as const;

/** A column for each number of the report, so that no cell of a CSV holds JSON. */
const USAGE_COLUMNS = [
  'token_report.monthly_active_tokens',
  'token_report.included_monthly_active_tokens',
  ...Object.keys(TOKEN_TYPES).flatMap((type) =>
    ['count', 'last_created_at'].map((name) => `token_report.metrics_by_type.${type}.${name}`),
  ),
];

/** The operations on tenants (§4.3). */
export const TENANT_OPERATIONS = {
  getTenant: {
    method: 'GET',
    path: '/tenants/self',
    permission: 'tenant:read',
    result: TENANT,
    status: 200,
    summary: 'Get the tenant of the calling key',
    audit: { code: 'ng', effect: 'none' },
    cli: {
      command: ['tenant', 'get'],
      columns: TENANT_COLUMNS,
      examples: ['vault tenant get --field settings.deduplicate_tokens'],
    },
  },
  updateTenant: {
    method: 'PUT',
    path: '/tenants/self',
    permission: 'tenant:update',
    body: UPDATE_TENANT,
    result: TENANT,
    status: 200,
    summary: 'Update the tenant of the calling key',
    audit: { code: 'nu', effect: ['tenant', 'upsert'] },
    conflicts: ['write_conflict'],
    cli: {
      command: ['tenant', 'update'],
      columns: TENANT_COLUMNS,
      examples: ['vault tenant update --name staging --settings deduplicate_tokens=true'],
    },
  },
  deleteTenant: {
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    status: 204,
    summary: 'Delete the tenant of the calling key',
    audit: { code: 'nd', effect: ['tenant', 'remove'] },
    cli: {
      command: ['tenant', 'delete'],
      columns: [],
      confirm: 'All applications, tokens and keys of {tenant} are permanently removed.',
      examples: ['vault tenant delete --yes'],
    },
  },
  getUsageReport: {
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    result: USAGE_REPORT,
    status: 200,
    summary: 'Get the usage report of the tenant',
    audit: { code: 'nr', effect: 'none' },
    cli: {
      command: ['usage'],
      columns: USAGE_COLUMNS,
      examples: ['vault usage --field token_report.monthly_active_tokens'],
    },
  },
  getActivity: {
    method: 'GET',
    path: '/tenants/self/reports/activity',
    permission: 'report:read',
    query: ACTIVITY_QUERY,
    result: ACTIVITY,
    status: 200,
    summary: 'List active tokens by month',
    audit: { code: 'na', effect: 'none' },
    cli: {
      command: ['usage'],
      sharing: { with: 'getUsageReport', flag: 'months' },
      columns: ['months'],
      examples: ['vault usage --months 3 -o table'],
    },
  },
} as const satisfies Record<string, Operation>;
