import type { Finding } from '../../core/key-holder-ports.ts';
import type { Store } from '../../core/ports.ts';
import { checksOf, type RowCheck, recordChecks } from '../rows/record-checks.ts';
import { LAST_INSTANT, LAST_MONTH, MAX_ROW, storedText } from '../rows/stored-value.ts';
import { type Connections, INSPECT } from './connections.ts';
import { schemaStatements } from './schema.ts';

const NO_TENANT = 'belongs to a tenant that does not exist';

/** The small tables whose rows belong to a tenant. */
const OWNED = ['tenant_key', 'application', 'application_key', 'container_set', 'reply', 'token_count'];

/** The schema that holds the tables. */
const SCHEMA = "(SELECT relnamespace FROM pg_class WHERE oid = 'vault.token'::regclass)";

const STATEMENTS = schemaStatements('vault');

/** The indexes, as SQL: the name and the definition, without white space and parentheses. */
const INDEXES = STATEMENTS.flatMap((text) => [
  ...text.matchAll(/^CREATE (UNIQUE )?INDEX (\w+) ON "vault"\.(\w+) (.*)$/gs),
]).map(([, unique = '', name = '', table = '', rest = '']) => definition(name, `${unique}${table} ${rest}`));

/** The constraints of all tables, likewise. PostgreSQL chooses their names. */
const CONSTRAINTS = STATEMENTS.flatMap((text) => [
  ...text.matchAll(/^CREATE TABLE "vault"\.(\w+) \((.*)\)$/gs),
]).flatMap(([, table = '', body = '']) =>
  body
    .split(/,\s+(?=PRIMARY KEY|UNIQUE|CHECK)/)
    .slice(1)
    .map((text) => definition(`${/^[A-Z]+(?: KEY)?/.exec(text)?.[0]} of ${table}`, text)),
);

function definition(name: string, text: string): string {
  return `('${name}', '${text.replaceAll(/[\s()]+/g, '')}')`;
}

/** The columns of all tables, as SQL: `table.column type`, with the collation if it is that of bytes, and `NOT NULL`. */
const COLUMNS = STATEMENTS.flatMap((text) => [...text.matchAll(/^CREATE TABLE "vault"\.(\w+) \((.*)\)$/gs)])
  .flatMap(([, table, body = '']) =>
    [
      ...body.matchAll(
        /(?:^|,)\s*([a-z]\w*) ((?:smallint|integer|bigint|uuid|text|bytea)(?:\[\])?)( COLLATE)?([^,]*)/g,
      ),
    ].map(
      ([, column, type, bytewise, rest = '']) =>
        `('${table}.${column} ${type}${bytewise === undefined ? '' : ' COLLATE "C"'}${/NOT NULL|IDENTITY/.test(rest) ? ' NOT NULL' : ''}')`,
    ),
  )
  .join();

/** Returns the query of a check: the table, the id and the damage of each wrong row. */
function queryOf({ table, what, sql }: RowCheck): string {
  return `SELECT '${table}', id, '${what}' FROM (${sql}) f (id)`;
}

/** Returns the queries of a table's checks. */
function queriesOf(table: string, queries: Readonly<Record<string, string>>): readonly string[] {
  return checksOf(table, queries).map(queryOf);
}

/**
 * Returns the condition of a function or an operator that PostgreSQL could choose instead of its own, with another
 * search_path. Leaves out those of extensions: a superuser owns them.
 */
function shadows(prefix: string, catalog: string): string {
  return `${prefix}namespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
      AND ${prefix}name IN (SELECT ${prefix}name FROM ${catalog} WHERE ${prefix}namespace = 'pg_catalog'::regnamespace)
      AND NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_roles r ON r.oid = ${prefix}owner
        WHERE d.classid = '${catalog}'::regclass AND d.objid = p.oid AND d.deptype = 'e' AND r.rolsuper)`;
}

/** Returns the query of the rights that the role lacks, of those that `vault init --grant` gives. */
function missingRights(rights: string): string {
  return `SELECT privilege || ' on ' || relname FROM pg_class, unnest('{${rights}}'::text[]) privilege
    WHERE relnamespace = ${SCHEMA} AND relkind = 'r' AND NOT has_table_privilege(pg_class.oid, privilege)
      AND NOT (relname = 'audit' AND privilege IN ('UPDATE', 'DELETE')) ORDER BY 1`;
}

const NO_RIGHT = 'the role of this command lacks the right';

/** The checks on which the other checks depend. */
const FIRST_CHECKS = queriesOf('schema', {
  [NO_RIGHT]: missingRights('SELECT'),
  'a column is missing, has another type, or may be NULL': `
    SELECT name FROM (VALUES ${COLUMNS}) w (name) EXCEPT SELECT relname || '.' || attname || ' '
      || format_type(atttypid, atttypmod) || CASE WHEN attcollation = 'pg_catalog."C"'::regcollation THEN ' COLLATE "C"' ELSE '' END
      || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
    FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = ${SCHEMA} AND attnum > 0 ORDER BY 1`,
});

/** The checks that read a small table, or read a table in one pass. */
const CHECKS: readonly string[] = [
  ...queriesOf('schema', {
    [NO_RIGHT]: missingRights('INSERT,UPDATE,DELETE'),
    'is not part of a vault, and may change, hide or lose rows': `
      SELECT 'trigger ' || tgname FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'policy ' || polname FROM pg_policy p JOIN pg_class c ON c.oid = polrelid WHERE relnamespace = ${SCHEMA}
      UNION ALL SELECT 'row security of ' || relname FROM pg_class WHERE relnamespace = ${SCHEMA} AND relrowsecurity
      UNION ALL SELECT 'child table ' || relname FROM pg_inherits i JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent IN (SELECT oid FROM pg_class WHERE relnamespace = ${SCHEMA})
      UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = ${SCHEMA}
      UNION ALL SELECT 'unlogged table ' || relname FROM pg_class
        WHERE relnamespace = ${SCHEMA} AND relkind = 'r' AND relpersistence <> 'p'`,
    'has the name of one of PostgreSQL, and could run with the rights of the vault': `
      SELECT 'function ' || p.oid::regprocedure FROM pg_proc p WHERE ${shadows('pro', 'pg_proc')}
      UNION ALL SELECT 'operator ' || p.oid::regoperator FROM pg_operator p WHERE ${shadows('opr', 'pg_operator')}`,
    'is not part of a vault, but its tables use it': `
      SELECT CASE refclassid WHEN 'pg_proc'::regclass THEN 'function ' || refobjid::regprocedure
        ELSE 'operator ' || refobjid::regoperator END
      FROM pg_depend WHERE refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass) AND (
        classid = 'pg_constraint'::regclass AND objid IN (SELECT oid FROM pg_constraint WHERE connamespace = ${SCHEMA})
        OR classid = 'pg_attrdef'::regclass AND objid IN (
          SELECT a.oid FROM pg_attrdef a JOIN pg_class c ON c.oid = adrelid WHERE relnamespace = ${SCHEMA})
        OR classid = 'pg_class'::regclass AND objid IN (SELECT oid FROM pg_class WHERE relnamespace = ${SCHEMA}))`,
    'is missing, altered or not valid': `
      SELECT name FROM (VALUES ${[...INDEXES, ...CONSTRAINTS].join()}
      EXCEPT SELECT name, regexp_replace(definition, '[[:space:]()]+', '', 'g') FROM (
        SELECT c.relname, CASE WHEN indisunique THEN 'UNIQUE' ELSE '' END || t.relname || regexp_replace(
          split_part(pg_get_indexdef(c.oid), ' USING btree ', 2), ' WITH [(][^)]*[)]', '')
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_class t ON t.oid = indrelid
        WHERE c.relnamespace = ${SCHEMA} AND indisvalid
        UNION ALL SELECT CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'CHECK' END || ' of ' || relname,
          pg_get_constraintdef(k.oid)
        FROM pg_constraint k JOIN pg_class t ON t.oid = conrelid LEFT JOIN pg_index ON indexrelid = conindid
        WHERE connamespace = ${SCHEMA} AND indisvalid IS NOT FALSE) a (name, definition)) w (name) ORDER BY name`,
    'a sequence has no number for another row': `
      SELECT relname FROM pg_sequence s JOIN pg_class c ON c.oid = seqrelid WHERE relnamespace = ${SCHEMA}
        AND CASE WHEN has_sequence_privilege(c.oid, 'USAGE, SELECT') THEN pg_sequence_last_value(c.oid) END
          >= least(seqmax, ${MAX_ROW})`,
  }),
  ...recordChecks('vault.', OWNED, (column) => `${column}::text`).map(queryOf),
  ...['format', 'header', 'sweep'].flatMap((table) =>
    queriesOf(table, { 'its only row is missing': `SELECT '' WHERE NOT EXISTS (SELECT 1 FROM vault.${table})` }),
  ),
  ...queriesOf('sweep', {
    'the time of the last sweep is not valid': `
      SELECT '' FROM vault.sweep WHERE swept_at NOT BETWEEN 0 AND ${LAST_INSTANT}`,
  }),
  ...queriesOf('head', {
    'the row is missing or closed, so nothing can be changed':
      "SELECT '' WHERE NOT EXISTS (SELECT 1 FROM vault.head WHERE left_at IS NULL)",
  }),
  ...queriesOf('tenant', {
    'does not name the newest of its keys': `SELECT n.id::text FROM vault.tenant n WHERE
      n.data_key_id IS DISTINCT FROM (SELECT max(key_id) FROM vault.tenant_key WHERE tenant = n.tenant AND purpose = 1)
      OR n.index_key_id IS DISTINCT FROM (SELECT max(key_id) FROM vault.tenant_key WHERE tenant = n.tenant AND purpose = 2)`,
  }),
  ...queriesOf('container_set', {
    'is not named by its containers': `SELECT name::text FROM vault.container_set WHERE name IS DISTINCT FROM (SELECT
      encode(substr(sha256(string_agg(uuid_send(c), ''::bytea ORDER BY c)), 1, 16), 'hex')::uuid FROM unnest(containers) c)`,
  }),
  ...queriesOf('audit_index', {
    'names rows beyond its own end or beyond the end of the audit': `
      SELECT '' FROM (SELECT max(sequence) AS last FROM vault.audit) a, vault.head
      WHERE logged > last OR (SELECT max(sequence) FROM vault.audit_index) > logged`,
  }),
];

/** The live rows and tombstones, without those of removed tenants. */
const TOKENS = '(SELECT * FROM vault.token WHERE tenant NOT IN (SELECT tenant FROM vault.purge)) t';

/** Selects tables, ids and damages of tokens. OFFSET 0 makes PostgreSQL look up a row by its whole key. */
const WRONG_TOKENS = `SELECT f.* FROM ${TOKENS}, LATERAL (VALUES
    ('token', 'tenant ' || tenant, '${NO_TENANT}', tenant NOT IN (SELECT tenant FROM vault.tenant)),
    ('token', id, 'is neither a token nor a tombstone', NOT CASE WHEN deleted_at IS NULL
      THEN num_nulls(blinds, clear, presented, revealed) = 0 AND num_nonnulls(mac, created_by, deleted_by) = 0
      ELSE num_nonnulls(blinds, clear, presented, revealed, expires_at) = 0 AND num_nulls(mac, created_by) = 0 END),
    ('token', id, 'was last used in an impossible month', active_month NOT BETWEEN 0 AND ${LAST_MONTH}),
    ('token', id, 'has no valid list of blind indexes', deleted_at IS NULL AND (cardinality(blinds) = 0
      OR cardinality(blinds) <> (SELECT count(DISTINCT b) FROM unnest(blinds) b))),
    ('token', id, 'is in a container set that does not exist', set_number <> 0 AND deleted_at IS NULL AND NOT EXISTS (
      SELECT 1 FROM vault.container_set s
      WHERE s.tenant = t.tenant AND s.number = t.set_number AND s.index_key_id = t.index_key_id OFFSET 0)),
    ('token_index', id, 'an index entry of the token is missing', EXISTS (
      SELECT 1 FROM unnest(blinds) b WHERE b IS NOT NULL AND NOT EXISTS (SELECT 1 FROM vault.token_index i
      WHERE i.tenant = t.tenant AND i.blind = b AND i.set_number = t.set_number AND i.created_at = t.created_at
        AND i.token = t.token OFFSET 0)))
  ) f (table_name, id, what, is_wrong) WHERE is_wrong ORDER BY t.token`;

/** Selects index entries whose tenant or token does not exist, or whose token has no such blind index. */
const WRONG_ENTRIES = `SELECT f.* FROM vault.token_index i
    LEFT JOIN (SELECT tenant FROM vault.tenant UNION ALL SELECT tenant FROM vault.purge) n ON n.tenant = i.tenant
    LEFT JOIN LATERAL (SELECT * FROM vault.token WHERE token = i.token OFFSET 0) t
      ON t.tenant = i.tenant AND t.set_number = i.set_number AND t.created_at = i.created_at AND t.deleted_at IS NULL,
    LATERAL (VALUES ('token_index', 'tenant ' || i.tenant, '${NO_TENANT}', n.tenant IS NULL),
      ('token_index', i.blind::text, 'an index entry leads to no token', t.id IS NULL),
      ('token_index', t.id, 'the token has an unexpected index entry', t.id IS NOT NULL AND n.tenant IS NOT NULL)
    ) f (table_name, id, what, is_wrong)
  WHERE (n.tenant IS NULL OR (i.blind = ANY (t.blinds)) IS NOT TRUE) AND is_wrong
  ORDER BY i.tenant, i.blind, i.set_number, i.created_at, i.token`;

/** Selects wrong counters: compares their sums with the tokens. */
const WRONG_COUNTERS = `WITH c AS MATERIALIZED (
    SELECT tenant, type, key_id, index_key_id, active_month AS month, count(*) FILTER (WHERE deleted_at IS NULL) AS live,
      count(*) FILTER (WHERE deleted_at IS NULL) AS active, max(created_at) AS last, 0 AS counted_last
    FROM ${TOKENS} GROUP BY tenant, type, key_id, index_key_id, active_month
    UNION ALL SELECT tenant, type, key_id, index_key_id, month, -live, -active, 0, last_created_at FROM vault.token_count)
  SELECT 'token_count', coalesce((SELECT id::text FROM vault.tenant n WHERE n.tenant = f.tenant), 'number ' || tenant)
      || ' ' || name, what FROM (
    SELECT tenant, 'type ' || type, 'the counter of a type differs from the number of its tokens'
    FROM c GROUP BY tenant, type, key_id, index_key_id HAVING sum(live) <> 0
    UNION ALL SELECT tenant, 'type ' || type, 'the last creation time of a type differs from that of its last token'
    FROM c GROUP BY tenant, type HAVING max(last) <> max(counted_last)
    UNION ALL SELECT tenant, 'month ' || month, 'has an impossible count'
    FROM c GROUP BY tenant, month HAVING -sum(active) > ${MAX_ROW}
    UNION ALL SELECT tenant, 'month ' || month, 'the counter of a month is lower than the number of its tokens'
    FROM c GROUP BY tenant, month HAVING sum(active) > 0) f (tenant, name, what) ORDER BY f.tenant, name, what`;

/** Returns the check of the tables, which needs no key. It reads one snapshot. */
export function inspectTables({ inspectSnapshot }: Pick<Connections, 'inspectSnapshot'>) {
  return {
    inspect: () =>
      inspectSnapshot(async (run) => {
        // Several rows may have the same damage.
        const found = new Map<string, Finding>();
        async function check(queries: readonly string[]): Promise<void> {
          for (const sql of queries) {
            for (const row of await run(sql)) {
              const [table = '', id = '', what = ''] = row.slice(0, 3).map(storedText);
              found.set([table, id, what].join(), { table, id, what });
            }
          }
        }
        await run(INSPECT);
        await check(FIRST_CHECKS);
        if (found.size === 0) await check([...CHECKS, WRONG_TOKENS, WRONG_ENTRIES, WRONG_COUNTERS]);
        return [...found.values()];
      }),
  } satisfies Partial<Store>;
}
