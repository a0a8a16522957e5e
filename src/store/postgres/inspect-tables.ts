import type { Finding } from '../../core/maintenance-ports.ts';
import type { Store } from '../../core/ports.ts';
import type { Parameter } from '../rows/fragment.ts';
import { LAST_INSTANT, storedNumber, storedText } from '../rows/stored-value.ts';
import { type Connections, PLAN_BY_ORDER, type Run } from './connections.ts';
import { countTokens, inspectCounters } from './inspect-counters.ts';
import { schemaStatements } from './schema.ts';

/** A check. `sql` selects the ids of wrong rows, and `what` describes the damage. */
interface Check {
  readonly table: string;
  readonly what: string;
  readonly sql: string;
}

/** The default number of rows that one statement of a walk examines. */
const EXAMINED = 5000;

/** The tenants that may have index entries, including those whose tokens a sweep still removes. */
const KNOWN = '(SELECT tenant FROM vault.tenant UNION ALL SELECT tenant FROM vault.purge)';

const NO_TENANT = 'belongs to a tenant that does not exist';

/** The schema that holds the tables. */
const SCHEMA = "(SELECT relnamespace FROM pg_class WHERE oid = 'vault.token'::regclass)";

/** The names of all indexes except those of primary keys, as SQL. */
const INDEXES = [
  ...schemaStatements('vault')
    .join()
    .matchAll(/INDEX (\w+) ON/g),
]
  .map(([, name]) => `('${name}')`)
  .join();

/** The columns of all tables, as SQL: `table.column type`, with the collation if it is that of bytes. */
const COLUMNS = schemaStatements('vault')
  .flatMap((text) => [...text.matchAll(/^CREATE TABLE "vault"\.(\w+) \((.*)\)$/gs)])
  .flatMap(([, table, body = '']) =>
    [...body.matchAll(/(?:^|,)\s*([a-z]\w*) ((?:smallint|integer|bigint|uuid|text|bytea)(?:\[\])?)( COLLATE)?/g)].map(
      ([, column, type, bytewise]) => `('${table}.${column} ${type}${bytewise === undefined ? '' : ' COLLATE "C"'}')`,
    ),
  )
  .join();

/** The check of the columns, on which the other checks depend. */
const COLUMN_CHECK: Check = {
  table: 'schema',
  what: 'a column is missing or has another type',
  sql: `SELECT name FROM (VALUES ${COLUMNS}) w (name) EXCEPT SELECT relname || '.' || attname || ' '
      || format_type(atttypid, atttypmod) || CASE WHEN attcollation = 'pg_catalog."C"'::regcollation THEN ' COLLATE "C"' ELSE '' END
    FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = ${SCHEMA} AND attnum > 0 ORDER BY 1`,
};

/** Returns the checks of a table: each member describes a damage, and selects the ids of wrong rows. */
function checksOf(table: string, queries: Readonly<Record<string, string>>): readonly Check[] {
  return Object.entries(queries).map(([what, sql]) => ({ table, what, sql }));
}

/** The checks that read a small table, or read a table in one pass. */
const CHECKS: readonly Check[] = [
  ...checksOf('schema', {
    'is not part of a vault, and may change, hide or lose rows': `
      SELECT 'trigger ' || tgname FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'policy ' || polname FROM pg_policy p JOIN pg_class c ON c.oid = polrelid WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'child table ' || relname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent IN (SELECT oid FROM pg_class WHERE relnamespace = ${SCHEMA})
      UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = ${SCHEMA}
      UNION ALL SELECT 'unlogged table ' || relname FROM pg_class
        WHERE relnamespace = ${SCHEMA} AND relkind = 'r' AND relpersistence <> 'p'`,
    'an index is missing or not valid': `
      SELECT name FROM (VALUES ${INDEXES}) w (name) WHERE NOT EXISTS (SELECT 1 FROM pg_class c
      JOIN pg_index x ON x.indexrelid = c.oid WHERE c.relnamespace = ${SCHEMA} AND relname = name AND indisvalid)
      UNION ALL SELECT relname FROM pg_class c WHERE c.relnamespace = ${SCHEMA} AND relkind = 'r'
        AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = c.oid AND indisprimary AND indisvalid)`,
  }),
  ...['tenant_key', 'application', 'container_set', 'reply', 'token_count'].flatMap((table) =>
    checksOf(table, {
      [NO_TENANT]: `SELECT DISTINCT 'tenant ' || tenant FROM vault.${table} WHERE tenant NOT IN (SELECT tenant FROM vault.tenant)`,
    }),
  ),
  ...['format', 'header', 'sweep'].flatMap((table) =>
    checksOf(table, { 'its only row is missing': `SELECT '' WHERE NOT EXISTS (SELECT 1 FROM vault.${table})` }),
  ),
  ...checksOf('sweep', {
    'the time of the last sweep is not valid': `
      SELECT '' FROM vault.sweep WHERE swept_at NOT BETWEEN 0 AND ${LAST_INSTANT}`,
  }),
  ...checksOf('gate', {
    'rows are missing, so duplicates may be created':
      "SELECT '' WHERE (SELECT count(*) FROM vault.gate WHERE gate BETWEEN 0 AND 4095) <> 4096",
  }),
  ...checksOf('chain', {
    'an audit chain has no row': `
      SELECT 'chain ' || chain FROM (SELECT 0 AS chain UNION SELECT DISTINCT chain FROM vault.audit) a
      WHERE chain NOT IN (SELECT chain FROM vault.chain)`,
    'the root chain of the audit is closed, so nothing can be changed':
      "SELECT 'chain 0' FROM vault.chain WHERE chain = 0 AND closed_at IS NOT NULL",
  }),
  ...checksOf('tenant', {
    'does not name the newest of its keys': `SELECT n.id::text FROM vault.tenant n WHERE
      n.data_key_id IS DISTINCT FROM (SELECT max(key_id) FROM vault.tenant_key WHERE tenant = n.tenant AND purpose = 1)
      OR n.index_key_id IS DISTINCT FROM (SELECT max(key_id) FROM vault.tenant_key WHERE tenant = n.tenant AND purpose = 2)`,
  }),
  ...checksOf('application', {
    'was created by an application that no longer exists': `
      SELECT a.id::text FROM vault.application a WHERE a.parent_id IS NOT NULL AND NOT EXISTS
      (SELECT 1 FROM vault.application p WHERE p.tenant = a.tenant AND p.id = a.parent_id)`,
  }),
  ...checksOf('container_set', {
    'is not named by its containers': `SELECT name::text FROM vault.container_set WHERE name IS DISTINCT FROM (SELECT
      encode(substr(sha256(string_agg(uuid_send(c), ''::bytea ORDER BY c)), 1, 16), 'hex')::uuid FROM unnest(containers) c)`,
  }),
  ...checksOf('audit_subject', {
    'names rows beyond the end of the audit': `
      SELECT 'chain ' || s.chain FROM (SELECT chain, max(sequence) AS sequence FROM vault.audit_subject GROUP BY chain) s
      WHERE s.sequence > coalesce((SELECT max(sequence) FROM vault.audit a WHERE a.chain = s.chain), 0)`,
  }),
  ...checksOf('audit_index', {
    'names rows beyond its own end or beyond the end of the audit': `
      SELECT 'chain ' || i.chain FROM (SELECT chain, max(sequence) AS sequence FROM vault.audit_index GROUP BY chain) i
      WHERE i.sequence > coalesce((SELECT logged FROM vault.chain c WHERE c.chain = i.chain), 0)
        OR i.sequence > coalesce((SELECT max(sequence) FROM vault.audit a WHERE a.chain = i.chain), 0)
      UNION SELECT 'chain ' || chain FROM vault.chain c
      WHERE logged > coalesce((SELECT max(sequence) FROM vault.audit a WHERE a.chain = c.chain), 0)`,
  }),
  ...checksOf('reply_subject', {
    'leads to no stored reply': `SELECT DISTINCT s.blind::text FROM vault.reply_subject s
      WHERE NOT EXISTS (SELECT 1 FROM vault.reply r WHERE r.reply = s.reply)`,
  }),
];

/**
 * The checks of the rows `t` of `token` with numbers above $1 and up to $2. OFFSET 0 makes PostgreSQL look up each
 * index entry by its whole key.
 */
const TOKEN_CHECKS: readonly Check[] = [
  ...checksOf('token', {
    [NO_TENANT]: "SELECT DISTINCT 'tenant ' || tenant FROM t WHERE tenant NOT IN (SELECT tenant FROM vault.tenant)",
    'is neither a token nor a tombstone': `SELECT id FROM t WHERE NOT CASE WHEN deleted_at IS NULL
      THEN num_nulls(blinds, clear, presented, revealed) = 0 AND num_nonnulls(mac, created_by, deleted_by) = 0
      ELSE num_nonnulls(blinds, clear, presented, revealed, expires_at) = 0 AND num_nulls(mac, created_by) = 0 END`,
    'has no valid list of blind indexes': `SELECT id FROM t WHERE deleted_at IS NULL AND (cardinality(blinds) = 0
      OR cardinality(blinds) <> (SELECT count(DISTINCT b) FROM unnest(blinds) b))`,
    'is in a container set that does not exist': `
      SELECT id FROM t WHERE set_number <> 0 AND deleted_at IS NULL AND NOT EXISTS (
      SELECT 1 FROM vault.container_set s
      WHERE s.tenant = t.tenant AND s.number = t.set_number AND s.index_key_id = t.index_key_id)`,
  }),
  ...checksOf('token_index', {
    'an index entry of the token is missing': `
      SELECT id FROM t WHERE EXISTS (SELECT 1 FROM unnest(blinds) b WHERE b IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM vault.token_index i
      WHERE i.tenant = t.tenant AND i.blind = b AND i.set_number = t.set_number AND i.created_at = t.created_at
        AND i.token = t.token OFFSET 0))`,
  }),
];

const TOKENS = `WITH t AS (SELECT * FROM vault.token WHERE token > $1 AND token <= $2
  AND tenant NOT IN (SELECT tenant FROM vault.purge))`;
const NEXT_TOKENS = `SELECT max(token) FROM (SELECT token FROM vault.token WHERE token > $1 ORDER BY token LIMIT $2::bigint) t`;
const NUMBERS = `${TOKENS} ${countTokens('t')}`;

/** At most $6 entries of `token_index` after a cursor, in order. */
const ENTRIES = `(SELECT * FROM vault.token_index
  WHERE (tenant, blind, set_number, created_at, token) > ($1::int, $2::uuid, $3::smallint, $4::bigint, $5::bigint)
  ORDER BY tenant, blind, set_number, created_at, token LIMIT $6::bigint) i`;
const LAST_ENTRY = `SELECT tenant, blind, set_number, created_at, token FROM ${ENTRIES}
    ORDER BY tenant DESC, blind DESC, set_number DESC, created_at DESC, token DESC LIMIT 1`;
/**
 * Selects the wrong entries: the tenant if it does not exist, the blind index, and the id of the live token, if there
 * is one.
 */
const WRONG_ENTRIES = `SELECT CASE WHEN n.tenant IS NULL THEN 'tenant ' || i.tenant END, i.blind::text, t.id FROM ${ENTRIES}
    LEFT JOIN ${KNOWN} n ON n.tenant = i.tenant
    LEFT JOIN LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t
      ON t.tenant = i.tenant AND t.set_number = i.set_number AND t.created_at = i.created_at AND t.deleted_at IS NULL
    WHERE n.tenant IS NULL OR (i.blind = ANY (t.blinds)) IS NOT TRUE`;
const FIRST_ENTRY = [-(2 ** 31), '00000000-0000-0000-0000-000000000000', 0, 0, 0];

/**
 * Returns the check of the tables, which needs no key. It reads one snapshot, and walks tokens and their index in steps
 * of `examined` rows.
 */
export function inspectTables({ readSnapshot }: Pick<Connections, 'readSnapshot'>, examined = EXAMINED) {
  return {
    inspect: () =>
      readSnapshot(async (run) => {
        await run(PLAN_BY_ORDER);
        const findings = await findingsOf(run, COLUMN_CHECK);
        if (findings.length > 0) return findings;
        for (const check of CHECKS) findings.push(...(await findingsOf(run, check)));
        const counters = inspectCounters();
        for (let after = Number.MIN_SAFE_INTEGER; ; ) {
          const [row] = await run(NEXT_TOKENS, [after, examined]);
          if (row === undefined || row[0] === null) break;
          const range = [after, storedNumber(row[0])] as const;
          const checks = TOKEN_CHECKS.map((check) => findingsOf(run, check, TOKENS, range));
          const [numbers, ...found] = await Promise.all([run(NUMBERS, range), ...checks]);
          counters.add(numbers);
          findings.push(...found.flat());
          after = range[1];
        }
        return distinct([...findings, ...(await inspectEntries(run, examined)), ...(await counters.findings(run))]);
      }),
  } satisfies Partial<Store>;
}

async function findingsOf(run: Run, check: Check, rows = '', values: readonly Parameter[] = []): Promise<Finding[]> {
  const { table, what, sql } = check;
  const found = await run(`${rows} ${sql}`, values);
  return found.map(([id]) => ({ table, id: storedText(id), what }));
}

async function inspectEntries(run: Run, examined: number): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const add = (id: unknown, what: string) => findings.push({ table: 'token_index', id: storedText(id), what });
  for (let cursor: readonly Parameter[] | undefined = FIRST_ENTRY; cursor !== undefined; ) {
    const values: readonly Parameter[] = [...cursor, examined];
    const [wrong, [last]] = await Promise.all([run(WRONG_ENTRIES, values), run(LAST_ENTRY, values)]);
    for (const [tenant, blind, token] of wrong) {
      if (tenant !== null) add(tenant, NO_TENANT);
      if (token === null) add(blind, 'an index entry leads to no token');
      else if (tenant === null) add(token, 'the token has an unexpected index entry');
    }
    cursor = last?.map((value) => (typeof value === 'string' ? value : storedNumber(value)));
  }
  return findings;
}

/** Removes duplicate findings, which several steps may report. */
function distinct(findings: readonly Finding[]): readonly Finding[] {
  return [...new Map(findings.map((finding) => [`${finding.table} ${finding.id} ${finding.what}`, finding])).values()];
}
