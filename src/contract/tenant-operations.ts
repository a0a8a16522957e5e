import type { Operation } from './operations.ts';
import { ACTIVITY, ACTIVITY_QUERY, TENANT, UPDATE_TENANT, USAGE_REPORT } from './tenant.ts';
import { TOKEN_TYPES } from './token-types.ts';

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
