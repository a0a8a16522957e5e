import { type IndexDialect, swappedIndex } from './swapped-index.ts';
import type { TamperLocations } from './tamper-locations.ts';
import type { TamperCase } from './tamper-run.ts';
import type { TamperVault } from './tamper-vault.ts';

type Named = Readonly<Record<string, string>>;

/** The tables of a store, and the SQL in which it differs from the other store. */
export interface TamperTables {
  /** The rows whose columns are edited one by one: conditions by name, by table. */
  readonly rows: Readonly<Record<string, Named>>;
  /** A query for the columns, their types, whether they may be null, and whether they are parts of a unique key. */
  readonly columns: string;
  /** Returns another value of a column, by type. Other types are numbers. */
  readonly values: Readonly<Record<string, (column: string) => string>>;
  /** Matches the names of edits of values that are not sealed. */
  readonly unsealed: readonly RegExp[];
  /** Lifts restrictions that the owner of the tables can lift. */
  readonly lift: string;
  readonly index: IndexDialect;
  /** The column that reveals a token, and the tables of tombstones and of counters. */
  readonly revealed: string;
  readonly tombstones: string;
  readonly counters: string;
  readonly noCounters: string;
  readonly newId: string;
  readonly newHash: string;
  /** Edits that only this store has. `other` is the schema with the tables of another vault. */
  readonly own: Named;
}

/** Returns SQL that replaces all rows of the tables with those of the other vault. */
export const replaced = (...tables: readonly string[]) =>
  tables.map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM other.${table};`).join('\n');

/** Returns SQL that adds changed copies of rows. */
const copied = (table: string, where: string, set: string) => `
  CREATE TEMP TABLE copies AS SELECT * FROM ${table} WHERE ${where};
  UPDATE copies SET ${set}; INSERT INTO ${table} SELECT * FROM copies; DROP TABLE copies;`;

/** Returns SQL that exchanges a value of the two rows with this condition, which differ in `key`. */
const exchanged = (table: string, key: string, column: string, where: string) => `
  CREATE TEMP TABLE a AS SELECT * FROM ${table} WHERE ${where}; CREATE TEMP TABLE b AS SELECT * FROM a;
  UPDATE a SET ${column} = (SELECT b.${column} FROM b WHERE b.${key} <> a.${key});
  DELETE FROM ${table} WHERE ${where}; INSERT INTO ${table} SELECT * FROM a; DROP TABLE a; DROP TABLE b;`;

export const TOKEN_1 = "tenant = 1 AND id = 'token-1'";
export const TOKEN_2 = "tenant = 1 AND id = 'token-2'";
export const PRIVATE = 'application = (SELECT min(application) FROM application WHERE type = 1)';
const KEY = `application_id = (SELECT id FROM application WHERE ${PRIVATE})`;
const FIRST_KEYS = 'application_key IN (SELECT application_key FROM application_key ORDER BY 1 LIMIT 2)';
const KEYS_OF_TENANTS = 'application_key IN (SELECT min(application_key) FROM application_key GROUP BY tenant)';
const END = '(SELECT max(sequence) FROM audit)';
const entriesOf = (token: string) => `token = (SELECT token FROM token WHERE ${token})`;
const OF_TENANT = ['token', 'token_index', 'container_set', 'application_key', 'application', 'tenant_key', 'tenant'];

function rowEdits(tables: TamperTables): Named {
  const { rows, index, revealed, tombstones, counters, noCounters, newId, newHash, own } = tables;
  const values = ['clear', 'presented', revealed, 'blinds'].join(', ');
  const ofIndex = Object.entries(swappedIndex('ssn', 'card', index));
  return {
    ...Object.fromEntries(Object.keys(rows).map((table) => [`${table}: another vault’s rows`, replaced(table)])),
    'token: two ids exchanged': exchanged('token', 'token', 'id', "tenant = 1 AND id IN ('token-1', 'token-2')"),
    'token: sealed values exchanged within a row': `UPDATE token SET presented = ${revealed}, ${revealed} = presented
      WHERE ${TOKEN_1}`,
    'token: the values of the other tenant’s token of the same id': `UPDATE token SET (${values}) =
      (SELECT ${values} FROM token WHERE tenant = 2 AND id = 'token-1') WHERE ${TOKEN_1}`,
    'token: moved to the other tenant': `UPDATE token SET tenant = 2 WHERE ${TOKEN_2}`,
    'token: copied to the other tenant, with its index':
      copied('token', TOKEN_2, 'tenant = 2, token = token + 1000') +
      copied('token_index', entriesOf(TOKEN_2), 'tenant = 2, token = token + 1000'),
    'token: copied under a new id': copied('token', TOKEN_1, "id = 'copied', token = token + 1000"),
    'token: deleted': `DELETE FROM token WHERE ${TOKEN_1}`,
    'token: deleted, with its index': `DELETE FROM token_index WHERE ${entriesOf(TOKEN_1)};
      DELETE FROM token WHERE ${TOKEN_1}`,
    'token: all deleted, with index and counters': `DELETE FROM token; DELETE FROM token_index; ${noCounters}`,
    'token: a tombstone removed': `DELETE FROM ${tombstones} WHERE id = 'gone'`,
    'token: all tombstones removed': `DELETE FROM ${tombstones} WHERE deleted_at IS NOT NULL`,
    'token: a tombstone moved to the other tenant': `UPDATE ${tombstones} SET tenant = 2 WHERE id = 'gone'`,
    'token_index: entries moved to another token': `UPDATE token_index
      SET token = (SELECT token FROM token WHERE ${TOKEN_2}) WHERE ${entriesOf(TOKEN_1)}`,
    'token_index: all deleted': 'DELETE FROM token_index',
    ...Object.fromEntries(ofIndex.map(([name, sql]) => [`token_index: ${name}`, sql])),
    'container_set: all deleted': 'DELETE FROM container_set',
    'application: deleted': `DELETE FROM application WHERE ${PRIVATE}`,
    'application: all deleted': 'DELETE FROM application',
    'application: moved to the other tenant': `UPDATE application SET tenant = 2 WHERE ${PRIVATE}`,
    'application: copied to the other tenant': copied(
      'application',
      PRIVATE,
      'tenant = 2, application = application + 1000',
    ),
    'application_key: hashes exchanged': exchanged('application_key', 'application_key', 'hash', FIRST_KEYS),
    'application_key: hashes of two tenants exchanged': exchanged(
      'application_key',
      'application_key',
      'hash',
      KEYS_OF_TENANTS,
    ),
    'application_key: added': copied(
      'application_key',
      KEY,
      `id = ${newId}, hash = ${newHash}, version = 2, application_key = application_key + 1000`,
    ),
    'application_key: deleted': `DELETE FROM application_key WHERE ${KEY}`,
    'application_key: all deleted': 'DELETE FROM application_key',
    'application_key: moved to the other tenant': `UPDATE application_key SET tenant = 2 WHERE ${KEY}`,
    'tenant: deleted': 'DELETE FROM tenant WHERE tenant = 1',
    'tenant: deleted with all its rows': [...new Set([tombstones, counters, ...OF_TENANT])]
      .map((table) => `DELETE FROM ${table} WHERE tenant = 2`)
      .join(';'),
    'tenant: ids exchanged': exchanged('tenant', 'tenant', 'id', 'tenant IN (1, 2)'),
    'tenant_key: wrapped keys exchanged': exchanged('tenant_key', 'key_id', 'wrapped', 'tenant = 1'),
    'tenant_key: wrapped keys of two tenants exchanged': exchanged(
      'tenant_key',
      'tenant',
      'wrapped',
      'key_id = 1 AND tenant < 3',
    ),
    'tenant_key: deleted': 'DELETE FROM tenant_key WHERE tenant = 1 AND key_id = 1',
    'header: deleted': 'DELETE FROM header',
    'audit: an entry removed': 'DELETE FROM audit WHERE sequence = 3',
    'audit: two entries exchanged': exchanged('audit', 'sequence', 'sequence', 'sequence IN (3, 4)'),
    'audit: two links exchanged': exchanged('audit', 'sequence', 'link', 'sequence IN (4, 5)'),
    'audit: an entry written twice': copied('audit', `sequence = ${END}`, 'sequence = sequence + 1'),
    'audit: its end cut': `DELETE FROM audit WHERE sequence = ${END}`,
    'audit: five entries cut from its end': `DELETE FROM audit WHERE sequence > ${END} - 5`,
    'audit: its beginning cut': 'DELETE FROM audit WHERE sequence < 2',
    'audit: removed': 'DELETE FROM audit',
    'audit: all removed': 'DELETE FROM audit; DELETE FROM audit_index',
    'audit_index: all deleted': 'DELETE FROM audit_index',
    'schema: a missing index': 'DROP INDEX token_id',
    ...own,
  };
}

/** Resolves to the edits of single columns that change a value of the vault. */
async function columnEdits(
  { rows, columns, values }: TamperTables,
  { locations, name: vault }: TamperVault,
): Promise<Named> {
  const edits: { readonly name: string; readonly sql: string; readonly changes: string }[] = [];
  for (const row of await locations.query(vault, columns)) {
    const [table, column, type] = [String(row['table']), String(row['column']), String(row['type'])];
    const [isNullable, isUnique] = [Boolean(row['is_nullable']), Boolean(row['is_unique'])];
    const number = `coalesce(${column}, 0)`;
    const numbers = isUnique ? { moved: `${number} + 10000` } : { raised: `${number} + 1`, lowered: `${number} - 1` };
    const replaced = `(SELECT o.${column} FROM ${table} o WHERE o.${column} <> ${table}.${column} LIMIT 1)`;
    const edited = values[type]?.(column);
    const others = {
      ...(edited === undefined
        ? numbers
        : { edited, ...(!isUnique && { 'replaced by that of another row': replaced }) }),
      ...(isNullable && { removed: 'NULL' }),
    };
    for (const [which, where] of Object.entries(rows[table] ?? {})) {
      for (const [how, value] of Object.entries(others)) {
        edits.push({
          name: `${table}.${column} of ${which} ${how}`,
          sql: `UPDATE ${table} SET ${column} = ${value} WHERE ${where}`,
          changes: `EXISTS (SELECT 1 FROM ${table} WHERE ${where} AND ${column} IS DISTINCT FROM ${value}
            AND (${isNullable} OR ${value} IS NOT NULL))`,
        });
      }
    }
  }
  const asked = edits.map(({ changes }, at) => `SELECT ${at} AS at WHERE ${changes}`);
  const changing = new Set((await locations.query(vault, asked.join(' UNION ALL '))).map((row) => row['at']));
  return Object.fromEntries(edits.filter((_, at) => changing.has(at)).map(({ name, sql }) => [name, sql]));
}

/** Matches edits at the end of the log, which only records or an anchor contradict. */
const AT_END = /\bend\b/;

/** Resolves to the edits of a vault: each column of each table, whole rows, and the schema. */
export async function tableEdits(
  tables: TamperTables,
  vault: TamperVault,
  other: TamperVault,
  locations: TamperLocations = vault.locations,
): Promise<TamperCase[]> {
  const all = { ...rowEdits(tables), ...(await columnEdits(tables, vault)) };
  return Object.entries(all).map(([name, sql]) => {
    const isUnsealed = tables.unsealed.some((pattern) => pattern.test(name));
    return {
      name,
      alter: (altered) =>
        locations.alter(altered, `${tables.lift} ${sql}`, sql.includes('other.') ? other.name : undefined),
      isUnsealed,
      isAudit: !isUnsealed && /^audit/.test(name) && !AT_END.test(name),
    };
  });
}
