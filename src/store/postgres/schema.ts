import { NO_LINK } from '../../core/audit/audit-link.ts';
import { Fault } from '../../core/fault.ts';
import { Problem } from '../../core/problem.ts';
import { MAX_SET_NUMBER } from '../rows/container-sets.ts';
import type { Run } from './connections.ts';
import { PgError } from './pg-error.ts';
import type { SqlClient, Statement } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

/** The format that this code reads and writes. */
const FORMAT = 1;

/**
 * The tables, in the schema that statements call `vault`. They implement the same port as the tables of SQLite
 * (src/store/sqlite/file/schema.ts); the differences serve writers in several processes.
 *
 * - UUIDs and blind indexes, which have 16 bytes, are `uuid`: as short as bytes, and arrays of them need no escapes.
 *   Ids of tokens order by their bytes, as in SQLite, whatever the database's locale. Times are milliseconds.
 * - There are no foreign keys: each costs a locking query for each row. `doctor` looks for orphans.
 * - `format` has a negative number after the vault was moved away, and in a copy before the move is complete. `header`
 *   is written last: without its row there is no vault.
 * - `sweep` has what SQLite keeps in the file's own row of `counter`: the last claim to remove expired records, and the
 *   clock note. There is no counter of commits: the head of the audit identifies the last commit.
 * - The row of `head` is locked by each transaction that writes, so that entries are in the order of commits. `left_at` is
 *   set when the vault was moved away. `logged` is the last sequence that `audit_index` covers; SQLite keeps it as a row
 *   of that table.
 * - `tenant.data_key_id` and `index_key_id` are the newest keys, so that a write compares them without reading
 *   `tenant_key`.
 * - A deleted token stays a row of `token`, so that `token_id` keeps its id taken in every race: `deleted_at` and `mac`
 *   are set, and nothing sealed is left. `created_by` is set only then, since the clear columns of a live token are
 *   packed in `clear`. `revealed` is the port's `full`, a word that SQL reserves.
 * - `token_id` is the only other index of `token` without a condition: a generic plan that finds a token by its id can
 *   choose no other. `token_newest` leaves out the id, which doubles an entry: few tokens share a time. Key ids need no
 *   index, since `token_count` counts the tokens under each key.
 * - `token_index` and `token.set_number` are as in SQLite. `container_set` has only sets with a number. A set keeps its
 *   number without tokens, and is removed with its index key: the names under another key differ, so no process adds it
 *   again. The containers of a token in a set without a number are in `blinds`. `set_number` fills bytes that PostgreSQL
 *   would leave free to align the next column.
 * - `token_count`: a sum is the number, and the `live` of one row may be negative. `live` counts the rows of live tokens under these keys, expired ones included;
 *   `active` counts tokens in `month`. One row for both, so that a create changes one counter.
 * - `audit` rows may contain several entries. The first row is the base, as in SQLite. `audit_index` finds
 *   rows by keyed hashes.
 * - `purge` lists deleted tenants whose tokens the sweeper still removes.
 *
 * `doctor` compares the indexes and constraints with these texts. So constraints follow the columns, and conditions are
 * written as PostgreSQL prints them, except for parentheses and white space.
 */
const TABLES: readonly string[] = [
  `CREATE TABLE vault.format (one smallint NOT NULL, format integer NOT NULL,
  PRIMARY KEY (one), CHECK (one = 1))`,
  `CREATE TABLE vault.header (one smallint NOT NULL DEFAULT 1, vault_id text COLLATE "C" NOT NULL,
  format integer NOT NULL, created_at bigint NOT NULL, generation integer NOT NULL, carried bytea,
  slot_numbers smallint[] NOT NULL, slot_bytes bytea[] NOT NULL, mac bytea NOT NULL,
  PRIMARY KEY (one), CHECK (one = 1))`,
  `CREATE TABLE vault.sweep (one smallint NOT NULL, swept_at bigint NOT NULL, clock_note text NOT NULL,
  PRIMARY KEY (one), CHECK (one = 1))`,
  `CREATE TABLE vault.head (one smallint NOT NULL DEFAULT 1, left_at bigint, logged bigint NOT NULL,
  PRIMARY KEY (one), CHECK (one = 1))`,
  `CREATE TABLE vault.tenant (tenant integer GENERATED ALWAYS AS IDENTITY, id uuid NOT NULL,
  owner_id uuid NOT NULL, created_by uuid, created_at bigint NOT NULL, modified_by uuid, modified_at bigint,
  revision bigint NOT NULL, key_id integer NOT NULL, data_key_id integer NOT NULL, index_key_id integer NOT NULL,
  details bytea NOT NULL, PRIMARY KEY (tenant), UNIQUE (id))`,
  `CREATE TABLE vault.tenant_key (tenant integer NOT NULL, key_id integer NOT NULL, purpose smallint NOT NULL,
  generation integer NOT NULL, wrapped bytea NOT NULL, created_at bigint NOT NULL, PRIMARY KEY (tenant, key_id))`,
  `CREATE TABLE vault.application (application bigint GENERATED ALWAYS AS IDENTITY, tenant integer NOT NULL,
  id uuid NOT NULL, type smallint NOT NULL, parent_id uuid, parent_key_id uuid, key_version bigint NOT NULL,
  created_by uuid, created_at bigint NOT NULL, modified_by uuid, modified_at bigint, expires_at bigint, revision bigint NOT NULL,
  key_id integer NOT NULL, details bytea NOT NULL, PRIMARY KEY (application))`,
  'CREATE UNIQUE INDEX application_id ON vault.application (tenant, id)',
  'CREATE INDEX application_newest ON vault.application (tenant, created_at DESC, id)',
  'CREATE INDEX application_parent ON vault.application (tenant, parent_id, expires_at) WHERE parent_id IS NOT NULL',
  'CREATE INDEX application_expiry ON vault.application (expires_at) WHERE expires_at IS NOT NULL',
  `CREATE TABLE vault.application_key (application_key bigint GENERATED ALWAYS AS IDENTITY,
  tenant integer NOT NULL, id uuid NOT NULL, application_id uuid NOT NULL, hash bytea NOT NULL,
  version bigint NOT NULL, created_by uuid, created_at bigint NOT NULL, expires_at bigint, revision bigint NOT NULL,
  key_id integer NOT NULL, last_used_day integer NOT NULL, seal bytea NOT NULL,
  PRIMARY KEY (application_key), UNIQUE (hash))`,
  'CREATE UNIQUE INDEX application_key_id ON vault.application_key (tenant, id)',
  'CREATE INDEX application_key_application ON vault.application_key (tenant, application_id)',
  'CREATE INDEX application_key_expiry ON vault.application_key (expires_at) WHERE expires_at IS NOT NULL',
  `CREATE TABLE vault.token (token bigint GENERATED ALWAYS AS IDENTITY, tenant integer NOT NULL,
  type smallint NOT NULL, set_number smallint NOT NULL DEFAULT 0, active_month integer NOT NULL,
  created_at bigint NOT NULL, expires_at bigint, deleted_at bigint, revision bigint NOT NULL, key_id integer NOT NULL, index_key_id integer NOT NULL, created_by uuid, deleted_by uuid,
  id text COLLATE "C" NOT NULL, mac bytea, blinds uuid[], clear bytea, presented bytea, revealed bytea,
  PRIMARY KEY (token), CHECK (CASE WHEN deleted_at IS NULL THEN num_nulls(blinds, clear, presented, revealed) = 0
    AND num_nonnulls(mac, created_by, deleted_by) = 0
    ELSE num_nonnulls(blinds, clear, presented, revealed, expires_at) = 0 AND num_nulls(mac, created_by) = 0 END))`,
  'CREATE UNIQUE INDEX token_id ON vault.token (tenant, id)',
  'CREATE INDEX token_newest ON vault.token (tenant, set_number, created_at, type) WHERE deleted_at IS NULL',
  `CREATE INDEX token_expiry ON vault.token (expires_at, tenant, type)
  WHERE expires_at IS NOT NULL AND deleted_at IS NULL`,
  `CREATE TABLE vault.token_index (tenant integer NOT NULL, blind uuid NOT NULL, set_number smallint NOT NULL,
  created_at bigint NOT NULL, token bigint NOT NULL, PRIMARY KEY (tenant, blind, set_number, created_at, token))`,
  `CREATE TABLE vault.container_set (tenant integer NOT NULL, name uuid NOT NULL,
  number smallint NOT NULL, index_key_id integer NOT NULL,
  containers uuid[] NOT NULL, PRIMARY KEY (tenant, name), CHECK (number >= 1 AND number <= ${MAX_SET_NUMBER}))`,
  'CREATE UNIQUE INDEX container_set_number ON vault.container_set (tenant, number)',
  `CREATE TABLE vault.token_count (tenant integer NOT NULL, type smallint NOT NULL, month integer NOT NULL,
  key_id integer NOT NULL, index_key_id integer NOT NULL, live bigint NOT NULL, active bigint NOT NULL,
  last_created_at bigint NOT NULL, PRIMARY KEY (tenant, type, month, key_id, index_key_id))`,
  'CREATE TABLE vault.purge (tenant integer NOT NULL, since bigint NOT NULL, PRIMARY KEY (tenant))',
  `CREATE TABLE vault.audit (sequence bigint NOT NULL, at bigint NOT NULL, link bytea NOT NULL,
  sealed bytea NOT NULL, PRIMARY KEY (sequence))`,
  `CREATE TABLE vault.audit_index (blind uuid NOT NULL, sequence bigint NOT NULL, PRIMARY KEY (blind, sequence))`,
  `CREATE TABLE vault.reply (reply bigint GENERATED ALWAYS AS IDENTITY, tenant integer NOT NULL,
  application_id uuid NOT NULL, key_hash bytea NOT NULL, request_hash bytea NOT NULL, created_at bigint NOT NULL,
  key_id integer NOT NULL, sealed bytea NOT NULL, PRIMARY KEY (reply))`,
  'CREATE UNIQUE INDEX reply_key ON vault.reply (tenant, application_id, key_hash)',
  'CREATE INDEX reply_age ON vault.reply (created_at)',
  'CREATE INDEX reply_stale ON vault.reply (tenant, key_id)',
];

export const TABLE_NAMES: readonly string[] = TABLES.flatMap(
  (text) => /^CREATE TABLE vault\.(\w+)/.exec(text)?.[1] ?? [],
);

/**
 * The storage settings of the tables. Sealed bytes do not compress. Rows of `token`, `tenant`, `head` and counters
 * change in place, which needs room in their page. Tables that grow fast are vacuumed and analyzed early. The row of a
 * destroyed key is vacuumed soon.
 */
const STORAGE: readonly string[] = [
  `ALTER TABLE vault.token ALTER clear SET STORAGE EXTERNAL, ALTER presented SET STORAGE EXTERNAL,
  ALTER revealed SET STORAGE EXTERNAL`,
  'ALTER TABLE vault.audit ALTER sealed SET STORAGE EXTERNAL',
  'ALTER TABLE vault.reply ALTER sealed SET STORAGE EXTERNAL',
  'ALTER TABLE vault.tenant SET (fillfactor = 50)',
  'ALTER TABLE vault.head SET (fillfactor = 50)',
  `ALTER TABLE vault.token SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.02)`,
  'ALTER TABLE vault.token_index SET (autovacuum_vacuum_insert_scale_factor = 0.02)',
  `ALTER TABLE vault.token_count SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000)`,
  'ALTER TABLE vault.tenant_key SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 0)',
];

/** The rows of a new vault, before its header is written. */
const ROWS: readonly string[] = [
  `INSERT INTO vault.format VALUES (1, ${FORMAT})`,
  `INSERT INTO vault.sweep VALUES (1, 0, '')`,
  'INSERT INTO vault.head VALUES (1, NULL, 0)',
  `INSERT INTO vault.audit VALUES (0, 0, decode('${Buffer.from(NO_LINK).toString('hex')}', 'hex'), '')`,
];

const SCHEMA_EXISTS = 'SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1';

/** The SQLSTATEs for a schema or a table that exists. 23505 occurs when two transactions create it at once. */
const EXISTS = ['42P06', '23505', '42P07'];

/** Replaces `vault.` by the configured schema in a statement. */
export function inSchema(text: string, schema: string): string {
  return text.replaceAll('vault.', `"${schema}".`);
}

/** Returns the statements that create the schema, the tables and their first rows, for one transaction. */
export function schemaStatements(schema: string): readonly string[] {
  return [`CREATE SCHEMA "${schema}"`, ...[...TABLES, ...STORAGE, ...ROWS].map((text) => inSchema(text, schema))];
}

/** Creates the tables and their first rows in a schema, new or without them. Rejects with the fault `conflict`. */
export async function createSchema({ run }: SqlClient, { schema, shown }: StoreUrl): Promise<void> {
  const exists = (await run(SCHEMA_EXISTS, [schema])).length > 0;
  const texts = schemaStatements(schema).slice(exists ? 1 : 0);
  try {
    // `Promise.all` rejects with the first error, which belongs to the statement that failed.
    await Promise.all(texts.map((text) => run(text)));
  } catch (error) {
    if (!(error instanceof PgError) || !EXISTS.includes(error.code)) throw error;
    throw new Fault('conflict', `the schema ${schema} of ${shown} already has tables`, {
      hint: 'name another schema with ?schema=NAME',
      cause: error,
    });
  }
}

const CHECK: Statement = {
  name: 'checkVault',
  text: `SELECT f.format, h.vault_id, pg_is_in_recovery() OR current_setting('transaction_read_only') <> 'off'
    FROM vault.format f LEFT JOIN vault.header h ON true`,
};

/** A schema, a table or a column is missing. */
const MISSING = ['3F000', '42P01', '42703'];

/** The state of the vault in a schema, for this version of the code. */
export type VaultState = 'missing' | 'moved' | 'invalid' | 'newer' | 'current';

/** The id is absent if the schema has no vault. */
interface FoundVault {
  readonly state: VaultState;
  readonly vaultId?: string;
  /** Whether the server refuses writes. */
  readonly isReadOnly: boolean;
}

/** Resolves to the state of the vault in the schema. */
export async function findVault(run: Run): Promise<FoundVault> {
  try {
    const [[format, vaultId, refusesWrites] = []] = await run(CHECK);
    const isReadOnly = refusesWrites !== false;
    if (typeof format !== 'number' || typeof vaultId !== 'string') {
      return { state: 'missing', isReadOnly };
    }
    return { state: stateOf(format), vaultId, isReadOnly };
  } catch (error) {
    if (error instanceof PgError && MISSING.includes(error.code)) return { state: 'missing', isReadOnly: false };
    throw error;
  }
}

function stateOf(format: number): VaultState {
  if (format < 0) return 'moved';
  if (format < FORMAT) return 'invalid';
  return format > FORMAT ? 'newer' : 'current';
}

/** Throws `vault_moved` unless the schema contains the vault, in a format that this code serves. */
export function requireVault({ state, vaultId }: FoundVault, expected: string): void {
  if (state !== 'current' || vaultId !== expected) throw new Problem('vault_moved', { retryAfter: 1 });
}
