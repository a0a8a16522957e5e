import type { Schema } from '../../contract/schema.ts';
import type { ResultView } from '../output/result-view.ts';

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'integer' };
const TIME: Schema = { type: 'string', format: 'date-time' };
const FLAG: Schema = { type: 'boolean' };

const object = (properties: Readonly<Record<string, Schema>>): Schema => {
  return { type: 'object', additionalProperties: false, properties };
};
const list = (items: Schema): Schema => ({ type: 'array', items });

const SLOT = object({ slot: NUMBER, kind: TEXT, created_at: TIME, current: FLAG });
const KEY = object({ key_id: NUMBER, purpose: TEXT, created_at: TIME });
const TENANT_KEYS = object({ tenant_id: TEXT, keys: list(KEY), stale: NUMBER });
const ROTATED = object({ tenant_id: TEXT, key_id: NUMBER, index_key_id: NUMBER, resealed: NUMBER, resumed: FLAG });
const CHECKED = object({ tenants: NUMBER, applications: NUMBER, tokens: NUMBER, audit_entries: NUMBER });
const FINDING = object({ table: TEXT, id: TEXT, what: TEXT });

/** How the results of `vault keys`, `backup`, `restore` and `doctor` are shown. */
export const KEYS_VIEWS = {
  list: {
    schema: object({ data: list(SLOT) }),
    list: true,
    columns: ['slot', 'kind', 'created_at', 'current'],
    rest: false,
    idMember: 'slot',
  },
  slot: {
    schema: SLOT,
    list: false,
    columns: ['slot', 'kind', 'created_at', 'current'],
    rest: false,
    idMember: 'slot',
  },
  status: {
    schema: object({ vault_id: TEXT, generation: NUMBER, slots: NUMBER, tenants: list(TENANT_KEYS) }),
    list: false,
    columns: ['vault_id', 'generation', 'slots', 'tenants'],
    rest: false,
  },
  rotate: {
    schema: object({ generation: NUMBER, removed_slots: list(NUMBER), tenants: list(ROTATED) }),
    list: false,
    columns: ['generation', 'removed_slots', 'tenants'],
    rest: false,
  },
  copy: { schema: object({ file: TEXT, checked: CHECKED }), list: false, columns: ['file', 'checked'], rest: false },
  doctor: {
    schema: object({ ok: FLAG, checked: CHECKED, findings: list(FINDING) }),
    list: false,
    columns: ['ok', 'checked', 'findings'],
    rest: false,
  },
} as const satisfies Record<string, ResultView>;
