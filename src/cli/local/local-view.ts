import { APPLICATION } from '../../contract/application.ts';
import type { Schema } from '../../contract/schema.ts';
import { TENANT } from '../../contract/tenant.ts';
import type { ResultView } from '../output/result-view.ts';

const FOUNDED: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: { tenant: TENANT, application: APPLICATION },
};

const FOUNDED_COLUMNS = ['tenant.id', 'tenant.name', 'application.id', 'application.name', 'application.key'] as const;

/** How the results of the commands without an endpoint are shown. */
export const LOCAL_VIEWS = {
  init: {
    schema: { ...FOUNDED, properties: { file: { type: 'string' }, ...FOUNDED.properties } },
    list: false,
    columns: ['file', ...FOUNDED_COLUMNS],
    rest: false,
  },
  tenantCreate: { schema: FOUNDED, list: false, columns: FOUNDED_COLUMNS, rest: false },
  tenantList: {
    schema: { type: 'object', additionalProperties: false, properties: { data: { type: 'array', items: TENANT } } },
    list: true,
    columns: ['id', 'name', 'owner_id', 'created_at'],
    rest: false,
  },
  tenantIssueKey: { schema: APPLICATION, list: false, columns: ['id', 'tenant_id', 'name', 'type', 'key'], rest: true },
} as const satisfies Record<string, ResultView>;
