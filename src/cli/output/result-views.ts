import { APPLICATION } from '../../contract/application.ts';
import type { Schema } from '../../contract/schema.ts';
import { TENANT } from '../../contract/tenant.ts';
import { PROFILE_VARIABLES } from '../profiles/profile.ts';
import type { ResultView } from './result-view.ts';

type Members = Readonly<Record<string, Schema>>;

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'integer' };
const TIME: Schema = { type: 'string', format: 'date-time' };
const FLAG: Schema = { type: 'boolean' };

const texts = (...names: readonly string[]): Members => Object.fromEntries(names.map((name) => [name, TEXT]));
const numbers = (...names: readonly string[]): Members => Object.fromEntries(names.map((name) => [name, NUMBER]));
const object = (properties: Members): Schema => ({ type: 'object', additionalProperties: false, properties });
const array = (items: Schema): Schema => ({ type: 'array', items });

/** Returns the view of a single result. A table shows all its members, in this order, unless `view` names columns. */
function one(members: Members, view: Partial<ResultView> = {}): ResultView {
  return { schema: object(members), list: false, columns: Object.keys(members), rest: false, ...view };
}

/** Returns the view of a list `{ data: [items] }` whose items have these members. */
function list(members: Members, view: Partial<ResultView> = {}): ResultView {
  const schema = object({ data: array(object(members)) });
  return { schema, list: true, columns: Object.keys(members), rest: false, ...view };
}

const SLOT = { slot: NUMBER, label: TEXT, kind: TEXT, created_at: TIME, current: FLAG };
const TENANT_KEYS = {
  tenant_id: TEXT,
  keys: array(object({ key_id: NUMBER, purpose: TEXT, created_at: TIME })),
  stale: NUMBER,
};
const ROTATED = { tenant_id: TEXT, key_id: NUMBER, index_key_id: NUMBER, resealed: NUMBER, resumed: FLAG };
/** The ids of damaged tenants, which the result leaves out. */
const DAMAGED = { damaged: array(TEXT) };
const CHECKED = object(numbers('tenants', 'applications', 'tokens', 'audit_entries'));
const FINDING = object(texts('table', 'id', 'what'));
const SIZES = { bytes_before: NUMBER, bytes_after: NUMBER };
const SNAPSHOT = { name: TEXT, saved_at: TIME, tokens: NUMBER, bytes: NUMBER, refused: TEXT };
const { api_key: _, ...PROFILE_TEXTS } = PROFILE_VARIABLES;
const PROFILE = { name: TEXT, default: FLAG, ...texts(...Object.keys(PROFILE_TEXTS)), keeps_api_key: FLAG };
const DEV_CLOCK = { now: TEXT, offset_ms: NUMBER, next_expiry: TEXT, removed: NUMBER };
const DEV_FAULT = { request: TEXT, status: NUMBER, retry_after: NUMBER, delay_ms: NUMBER, drop: FLAG, times: NUMBER };
const DEV_REQUEST = {
  time: TIME,
  method: TEXT,
  route: TEXT,
  status: NUMBER,
  ms: { type: 'number' },
  bytes: NUMBER,
  application_id: TEXT,
  problem: TEXT,
  members: array(TEXT),
  trace_id: TEXT,
  id: NUMBER,
} as const;
const CREATED_TENANT = { tenant: TENANT, application: APPLICATION };
const CREATED_COLUMNS = ['tenant.id', 'tenant.name', 'application.id', 'application.name', 'application.key'];
const SEEDED = { seed: TEXT, created: NUMBER, changed: NUMBER, unchanged: NUMBER };
const SEED_CHANGE = { action: TEXT, item: TEXT, members: array(TEXT) };

/** The views of commands without an endpoint. Operations define theirs in their rows. */
export const RESULT_VIEWS = {
  init: one(
    { file: TEXT, store: TEXT, ...CREATED_TENANT },
    { columns: ['file', 'store', ...CREATED_COLUMNS], idMember: 'tenant.id' },
  ),
  version: one({ version: TEXT, format: NUMBER, ...texts('sqlite', 'libsodium', 'node', 'platform', 'arch') }),
  dryRun: one({ method: TEXT, path: TEXT, headers: { type: 'object', additionalProperties: TEXT }, body: {} }),
  serveDev: one(texts('url', 'tenant_id', 'management_key', 'private_key', 'ui')),
  clock: one(DEV_CLOCK),
  faults: list(DEV_FAULT),
  requests: list(DEV_REQUEST),
  tenantCreate: one(CREATED_TENANT, { columns: CREATED_COLUMNS, idMember: 'tenant.id' }),
  tenantList: list(TENANT.properties, {
    columns: ['id', 'name', 'owner_id', 'created_at'],
    schema: object({ data: array(object(TENANT.properties)), ...DAMAGED }),
  }),
  tenantIssueKey: { schema: APPLICATION, list: false, columns: ['id', 'tenant_id', 'name', 'type', 'key'], rest: true },
  tenantAccept: one(
    { tenant_id: TEXT, accepted: array(FINDING) },
    { columns: ['tenant_id', 'accepted'], idMember: 'tenant_id' },
  ),
  keysList: list(SLOT, { idMember: 'slot' }),
  keysSlot: one(SLOT, { idMember: 'slot' }),
  keysStatus: one(
    { vault_id: TEXT, generation: NUMBER, slots: NUMBER, tenants: array(object(TENANT_KEYS)), ...DAMAGED },
    { columns: ['vault_id', 'generation', 'slots', 'tenants'], rest: true, nested: 'tenants' },
  ),
  keysRotate: one(
    { generation: NUMBER, removed_slots: array(NUMBER), tenants: array(object(ROTATED)), ...DAMAGED },
    { columns: ['generation', 'removed_slots', 'tenants'], rest: true, nested: 'tenants' },
  ),
  keygen: one({ file: TEXT, recipient: TEXT }),
  backup: one({ file: TEXT, checked: CHECKED, removed: array(TEXT) }, { columns: ['file', 'checked'], rest: true }),
  compact: one({ file: TEXT, ...SIZES, checked: CHECKED }),
  move: one({ ...texts('state', 'from', 'to'), ...numbers('tenants', 'applications', 'tokens', 'audit_rows') }),
  doctor: one({
    ok: FLAG,
    format: NUMBER,
    checked: CHECKED,
    findings: array(FINDING),
    notices: array(TEXT),
  }),
  auditVerify: one(
    {
      ok: FLAG,
      entries: NUMBER,
      counted_denials: NUMBER,
      head: TEXT,
      first_bad: object({ sequence: NUMBER, what: TEXT, archive: TEXT }),
    },
    { columns: ['ok', 'entries'], rest: true },
  ),
  auditPrune: one({ archive: TEXT, entries: NUMBER, removed: NUMBER, sha256: TEXT }),
  auditExport: one({ file: TEXT, entries: NUMBER }),
  snapshot: one(SNAPSHOT, { columns: ['name', 'saved_at', 'tokens', 'bytes'], idMember: 'name' }),
  snapshotList: list(SNAPSHOT, { idMember: 'name' }),
  reset: one({ removed_tokens: NUMBER, ...SIZES, ...DAMAGED }, { columns: ['removed_tokens'], rest: true }),
  export: one({ file: TEXT, tokens: NUMBER, view: TEXT, encrypted: TEXT }),
  import: one({ created: NUMBER, skipped: NUMBER, failed: NUMBER }),
  profile: one(PROFILE, { columns: ['name'], rest: true, idMember: 'name' }),
  profileList: list(PROFILE, { idMember: 'name' }),
  seedApply: one(SEEDED),
  seedDryRun: list(SEED_CHANGE, { schema: object({ ...SEEDED, data: array(object(SEED_CHANGE)) }) }),
} as const satisfies Record<string, ResultView>;
