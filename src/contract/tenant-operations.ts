import { at, MANAGEMENT_ID, OWNER_ID, TENANT_ID } from './example-names.ts';
import type { Operation } from './operations.ts';
import { ACTIVITY, ACTIVITY_QUERY, TENANT, UPDATE_TENANT, USAGE_REPORT } from './tenant.ts';

const TENANT_COLUMNS = ['id', 'name', 'owner_id', 'settings', 'created_at'] as const;

const EXAMPLE_TENANT = {
  id: TENANT_ID,
  owner_id: OWNER_ID,
  name: 'production',
  settings: { deduplicate_tokens: 'false' },
  created_by: OWNER_ID,
  created_at: at('09:30'),
};

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
    conflicts: [],
    cli: {
      command: ['tenant', 'get'],
      columns: TENANT_COLUMNS,
      examples: ['vault tenant get --field settings.deduplicate_tokens'],
    },
    examples: { tenant: { summary: 'The tenant of the calling key', result: EXAMPLE_TENANT } },
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
    examples: {
      deduplicate: {
        summary: 'Deduplicate tokens from now on',
        body: { name: 'production', settings: { deduplicate_tokens: 'true' } },
        result: {
          ...EXAMPLE_TENANT,
          settings: { deduplicate_tokens: 'true' },
          modified_by: MANAGEMENT_ID,
          modified_at: at('09:45'),
        },
      },
    },
  },
  deleteTenant: {
    method: 'DELETE',
    path: '/tenants/self',
    permission: 'tenant:delete',
    status: 204,
    summary: 'Delete the tenant of the calling key',
    audit: { code: 'nd', effect: ['tenant', 'remove'] },
    conflicts: [],
    cli: {
      command: ['tenant', 'delete'],
      columns: [],
      confirm: 'All applications, tokens and keys of {tenant} are permanently removed.',
      examples: ['vault tenant delete --yes'],
    },
    examples: { tenant: { summary: 'The tenant of the calling key' } },
  },
  getUsageReport: {
    method: 'GET',
    path: '/tenants/self/reports/usage',
    permission: 'report:read',
    result: USAGE_REPORT,
    status: 200,
    summary: 'Get the usage report of the tenant',
    audit: { code: 'nr', effect: 'none' },
    conflicts: [],
    cli: {
      command: ['usage'],
      columns: ['token_report'],
      examples: ['vault usage --field token_report.monthly_active_tokens'],
    },
    examples: {
      month: {
        summary: 'The calendar month',
        result: {
          token_report: {
            metrics_by_type: {
              card: { count: 2, last_created_at: at('09:39') },
              token: { count: 2, last_created_at: at('09:39') },
            },
            included_monthly_active_tokens: 1000,
            monthly_active_tokens: 4,
          },
        },
      },
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
    conflicts: [],
    cli: {
      command: ['usage'],
      sharing: { with: 'getUsageReport', flag: 'months' },
      columns: ['months'],
      examples: ['vault usage --months 3 -o table'],
    },
    examples: {
      quarter: {
        summary: 'Three months',
        query: { months: 3 },
        result: {
          months: [
            { month: '2026-01', active_tokens: 0 },
            { month: '2026-02', active_tokens: 0 },
            { month: '2026-03', active_tokens: 4 },
          ],
        },
      },
    },
  },
} as const satisfies Record<string, Operation>;
