import { APPLICATION } from '../../contract/application.ts';
import type { Schema } from '../../contract/schema.ts';
import { TENANT } from '../../contract/tenant.ts';
import type { ResultView } from '../output/result-view.ts';

const FOUNDED: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: { tenant: TENANT, application: APPLICATION },
};

const TEXT: Schema = { type: 'string' };
const PROFILE: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    name: TEXT,
    default: { type: 'boolean' },
    url: TEXT,
    header_prefix: TEXT,
    file: TEXT,
    key_file: TEXT,
    passphrase_file: TEXT,
    api_key_file: TEXT,
    keeps_api_key: { type: 'boolean' },
  },
};

const FOUNDED_COLUMNS = ['tenant.id', 'tenant.name', 'application.id', 'application.name', 'application.key'] as const;

/** How the results of the commands without an endpoint are shown. */
export const LOCAL_VIEWS = {
  init: {
    schema: { ...FOUNDED, properties: { file: { type: 'string' }, ...FOUNDED.properties } },
    list: false,
    columns: ['file', ...FOUNDED_COLUMNS],
    rest: false,
    idMember: 'tenant.id',
  },
  tenantCreate: { schema: FOUNDED, list: false, columns: FOUNDED_COLUMNS, rest: false, idMember: 'tenant.id' },
  tenantList: {
    schema: { type: 'object', additionalProperties: false, properties: { data: { type: 'array', items: TENANT } } },
    list: true,
    columns: ['id', 'name', 'owner_id', 'created_at'],
    rest: false,
  },
  tenantIssueKey: { schema: APPLICATION, list: false, columns: ['id', 'tenant_id', 'name', 'type', 'key'], rest: true },
  version: {
    schema: {
      type: 'object',
      additionalProperties: false,
      properties: {
        version: TEXT,
        format: { type: 'integer' },
        sqlite: TEXT,
        libsodium: TEXT,
        node: TEXT,
        platform: TEXT,
        arch: TEXT,
      },
    },
    list: false,
    columns: ['version', 'format', 'sqlite', 'libsodium', 'node', 'platform', 'arch'],
    rest: false,
  },
  profile: { schema: PROFILE, list: false, columns: ['name'], rest: true, idMember: 'name' },
  profileList: {
    schema: { type: 'object', additionalProperties: false, properties: { data: { type: 'array', items: PROFILE } } },
    list: true,
    columns: Object.keys(PROFILE.properties ?? {}),
    rest: false,
    idMember: 'name',
  },
} as const satisfies Record<string, ResultView>;
