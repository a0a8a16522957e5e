import { at, MANAGEMENT_ID, OWNER_ID, TENANT_ID } from '../../example-names.ts';
import type { Examples } from './examples.ts';

const EXAMPLE_TENANT = {
  id: TENANT_ID,
  owner_id: OWNER_ID,
  name: 'production',
  settings: { deduplicate_tokens: 'false' },
  created_by: OWNER_ID,
  created_at: at('09:30'),
};

/** The examples of the operations on tenants. */
export const TENANT_EXAMPLES = {
  getTenant: { tenant: { summary: 'The tenant of the calling key', result: EXAMPLE_TENANT } },
  updateTenant: {
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
  deleteTenant: { tenant: { summary: 'The tenant of the calling key' } },
  getUsageReport: {
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
  getActivity: {
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
} as const satisfies Partial<Examples>;
