import { MAX_SET_NUMBER } from '../../rows/container-sets.ts';
import type { Connection } from './driver.ts';

/** "VLT1": the `PRAGMA application_id` of a vault. */
export const APPLICATION_ID = 0x564c5431;

/** The format that this code reads and writes, stored as `PRAGMA user_version`. */
export const FILE_FORMAT = 1;

/** The length of a blind index in bytes. `token.blinds` is the fingerprint's index followed by the others. */
export const BLIND_LENGTH = 16;

/**
 * The tables, each text exactly as SQLite stores it. Opening a file compares its schema with this list, so an added
 * trigger or view is found before it runs.
 *
 * - Tenants and tokens have small integer keys inside the file; UUIDs are 16-byte blobs. The ids of tokens are text,
 *   because lists sort and rules search by them. Times are `Instant`s.
 * - AUTOINCREMENT never assigns the number of a removed tenant again. Rows that an edit outside the vault left under
 *   this number must not join another tenant.
 * - `application_key` holds the API keys. `seal` is sealed and binds the other columns, except `last_used_day`.
 *   `application.key_version` counts the keys that an application has had.
 * - `token_index` holds one entry for each blind index of a token, under the token's `set_number`: a list by one index
 *   merges backward walks over the sets, and its total counts entries. Both leave out the sets without visible tokens.
 *   `token.blinds` repeats the indexes, so that the entries of a token are found without another index.
 * - `container_set` holds sets of containers that tokens share: for each blind index of a container or prefix a row
 *   with the set's name, 16 bytes made of all of them. The first sets of a tenant have a `number` from 1 to 15, the
 *   others 0. A token of a numbered set has this number in `token.set_number` and no entry in `token_index` for its
 *   containers. A token of another set has one entry, for the set's name. A list by a container walks its sets besides
 *   its own entries. The number of sets of a container is limited; beyond the limit, tokens have their own entries. A
 *   set without tokens is removed.
 * - `token_newest` orders the tokens of each numbered set, and those of no numbered set under 0. A list of all tokens
 *   merges these walks. It has the id because tokens of one batch share a time, and lists would sort them.
 * - `token.clear` holds all clear columns of a token, in the bytes that its seals are bound to. The other columns
 *   repeat those that a statement searches, sorts or compares by. `presented` and `full` are sealed.
 * - `counter` holds the values that change whenever a token is created, together in one page. The columns of the key
 *   that do not apply are 0:
 *   - tenant, type, key_id, index_key_id: `count` is the number of rows in `token` under these keys, expired ones
 *     included; `at` is the last time of creation and never decreases.
 *   - tenant, month: `count` is the number of active tokens in the month.
 *   - all 0, the file: `at` is the last time when the file target removed expired records; `clock` is the vault's clock
 *     note, with a MAC.
 * - `audit` holds all actions in order, behind the base, its first row. The base of a new vault is the row 0, which has
 *   no text; a prune moves it forward. The last row of each commit has the commit's link to the previous one (`linkOf`).
 * - `audit_index` finds the rows of the audit by a keyed hash of the caller and of the records. It is written later than
 *   the audit; the row with an empty `blind` has the last sequence that it covers.
 * - `reply` holds what a retry of a change with an idempotency key needs, for 24 hours. `sealed` is bound to the other
 *   columns. `reply_stale` counts the replies that a rotation must seal again.
 * - `key_id` and `index_key_id` are the tenant's keys of a row. A rotation walks the tokens and reseals those under
 *   older keys. A key without tokens in `counter` can be destroyed.
 */
export const SCHEMA: readonly string[] = [
  `CREATE TABLE counter (
  tenant INTEGER NOT NULL,
  type INTEGER NOT NULL,
  month INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  index_key_id INTEGER NOT NULL,
  count INTEGER NOT NULL,
  at INTEGER NOT NULL,
  clock TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (tenant, type, month, key_id, index_key_id)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE header (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  vault_id TEXT NOT NULL,
  format INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  carried BLOB,
  mac BLOB NOT NULL
) STRICT`,
  `CREATE TABLE slot (
  slot INTEGER PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT`,
  `CREATE TABLE tenant (
  tenant INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  owner_id BLOB NOT NULL,
  created_by BLOB,
  created_at INTEGER NOT NULL,
  modified_by BLOB,
  modified_at INTEGER,
  revision INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  details BLOB NOT NULL
) STRICT`,
  `CREATE TABLE tenant_key (
  tenant INTEGER NOT NULL REFERENCES tenant,
  key_id INTEGER NOT NULL,
  purpose INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  wrapped BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, key_id)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE application (
  application INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL REFERENCES tenant,
  id BLOB NOT NULL,
  type INTEGER NOT NULL,
  parent_id BLOB,
  parent_key_id BLOB,
  key_version INTEGER NOT NULL,
  created_by BLOB,
  created_at INTEGER NOT NULL,
  modified_by BLOB,
  modified_at INTEGER,
  expires_at INTEGER,
  revision INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  details BLOB NOT NULL
) STRICT`,
  'CREATE UNIQUE INDEX application_id ON application (tenant, id)',
  'CREATE INDEX application_newest ON application (tenant, created_at DESC, id)',
  'CREATE INDEX application_parent ON application (tenant, parent_id, expires_at) WHERE parent_id IS NOT NULL',
  'CREATE INDEX application_expiry ON application (expires_at, tenant) WHERE expires_at IS NOT NULL',
  `CREATE TABLE application_key (
  application_key INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL REFERENCES tenant,
  id BLOB NOT NULL,
  application_id BLOB NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  created_by BLOB,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revision INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  last_used_day INTEGER NOT NULL,
  seal BLOB NOT NULL
) STRICT`,
  'CREATE UNIQUE INDEX application_key_id ON application_key (tenant, id)',
  'CREATE INDEX application_key_application ON application_key (tenant, application_id)',
  'CREATE INDEX application_key_expiry ON application_key (expires_at, tenant) WHERE expires_at IS NOT NULL',
  `CREATE TABLE token (
  token INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL REFERENCES tenant,
  id TEXT NOT NULL,
  type INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revision INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  index_key_id INTEGER NOT NULL,
  active_month INTEGER NOT NULL,
  set_number INTEGER NOT NULL DEFAULT 0 CHECK (set_number BETWEEN 0 AND ${MAX_SET_NUMBER}),
  blinds BLOB NOT NULL,
  clear BLOB NOT NULL,
  presented BLOB NOT NULL,
  full BLOB NOT NULL
) STRICT`,
  'CREATE UNIQUE INDEX token_id ON token (tenant, id)',
  'CREATE INDEX token_newest ON token (tenant, set_number, created_at, id DESC, type)',
  'CREATE INDEX token_expiry ON token (expires_at, tenant, type) WHERE expires_at IS NOT NULL',
  `CREATE TABLE token_index (
  tenant INTEGER NOT NULL,
  blind BLOB NOT NULL,
  set_number INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  token INTEGER NOT NULL,
  PRIMARY KEY (tenant, blind, set_number, created_at, token)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE container_set (
  tenant INTEGER NOT NULL,
  container BLOB NOT NULL,
  name BLOB NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (tenant, container, name)
) STRICT, WITHOUT ROWID`,
  'CREATE INDEX container_set_name ON container_set (tenant, name)',
  'CREATE INDEX container_set_number ON container_set (tenant, number) WHERE number > 0',
  `CREATE TABLE tombstone (
  tenant INTEGER NOT NULL REFERENCES tenant,
  id TEXT NOT NULL,
  type INTEGER NOT NULL,
  created_by BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  deleted_by BLOB,
  deleted_at INTEGER NOT NULL,
  mac BLOB NOT NULL,
  PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  link BLOB NOT NULL
) STRICT`,
  `CREATE TABLE audit_index (
  blind BLOB NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (blind, sequence)
) STRICT, WITHOUT ROWID`,
  `CREATE TABLE reply (
  reply INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL REFERENCES tenant,
  application_id BLOB NOT NULL,
  key_hash BLOB NOT NULL,
  request_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  key_id INTEGER NOT NULL,
  sealed BLOB NOT NULL
) STRICT`,
  'CREATE UNIQUE INDEX reply_key ON reply (tenant, application_id, key_hash)',
  'CREATE INDEX reply_age ON reply (created_at)',
  'CREATE INDEX reply_stale ON reply (tenant, key_id)',
];

/** The table that SQLite adds for AUTOINCREMENT. A trigger may have its name, too. */
const SEQUENCES = "type = 'table' AND sql = 'CREATE TABLE sqlite_sequence(name,seq)'";

/** Returns whether a database has exactly the tables and indexes of a vault. */
export function hasSchema(connection: Connection): boolean {
  const query = `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND NOT (${SEQUENCES})`;
  const found = connection.prepare<[], string>(query).pluck().all();
  return found.sort().join('\n') === [...SCHEMA].sort().join('\n');
}

/** The condition for the file's own row of `counter`. */
export const FILE_ROW = 'tenant = 0 AND type = 0 AND month = 0 AND key_id = 0 AND index_key_id = 0';
