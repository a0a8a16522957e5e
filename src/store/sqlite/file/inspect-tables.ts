import type { Finding } from '../../../core/key-holder-ports.ts';
import { nameOf } from '../../rows/container-sets.ts';
import { checksOf, recordChecks } from '../../rows/record-checks.ts';
import { LAST_INSTANT, LAST_MONTH, MAX_ROW } from '../../rows/stored-value.ts';
import { splitBlinds } from '../tables/token-index.ts';
import { type Connection, selectNumber } from './driver.ts';
import { BLIND_LENGTH, FILE_ROW } from './schema.ts';

/** Returns an SQL expression for the text of a UUID. */
const UUID = (column: string) => {
  const part = (from: number, length: number) => `substr(hex(${column}), ${from}, ${length})`;
  return `lower(${part(1, 8)} || '-' || ${part(9, 4)} || '-' || ${part(13, 4)} || '-' || ${part(17, 4)} || '-' || substr(hex(${column}), 21))`;
};

/** Returns an SQL expression for a tenant's UUID, or for its number if the tenant has no row. */
const TENANT = (column: string) =>
  `coalesce((SELECT ${UUID('id')} FROM tenant WHERE tenant = ${column}), 'number ' || ${column})`;

/** The tables whose rows belong to a tenant, except `counter`. */
const OWNED = [
  'tenant_key',
  'application',
  'application_key',
  'token',
  'token_index',
  'container_set',
  'tombstone',
  'reply',
];

const CHECKS = [
  ...recordChecks('', OWNED, UUID),
  ...['tenant', 'application', 'application_key', 'token', 'reply'].flatMap((table) =>
    checksOf(table, {
      'has a row number that the vault never assigns': `
        SELECT 'number ' || ${table} FROM ${table} WHERE ${table} NOT BETWEEN 1 AND ${MAX_ROW}`,
    }),
  ),
  ...checksOf('sqlite_sequence', {
    'has a number that no tenant has had': `
      SELECT name FROM sqlite_sequence WHERE (name = 'tenant' AND typeof(seq) = 'integer'
        AND seq BETWEEN (SELECT ifnull(max(tenant), 0) FROM tenant) AND ${MAX_ROW}) IS NOT 1
      UNION ALL SELECT 'tenant' WHERE EXISTS (SELECT 1 FROM tenant) AND NOT EXISTS (SELECT 1 FROM sqlite_sequence)`,
  }),
  ...checksOf('counter', {
    'belongs to a tenant that does not exist': `
      SELECT DISTINCT 'tenant ' || tenant FROM counter
      WHERE tenant NOT IN (SELECT tenant FROM tenant) AND NOT (${FILE_ROW})`,
    'the note of the last sweep is missing': `SELECT '' WHERE NOT EXISTS (SELECT 1 FROM counter WHERE ${FILE_ROW})`,
    'the note of the last sweep is not valid': `
      SELECT '' FROM counter WHERE ${FILE_ROW} AND (count <> 0 OR at NOT BETWEEN 0 AND ${LAST_INSTANT})`,
    'has an impossible count': `
      SELECT ${TENANT('tenant')} || iif(type = 0, ' month ' || month, ' type ' || type) FROM counter
      WHERE count NOT BETWEEN 0 AND ${MAX_ROW}`,
  }),
  ...checksOf('token', {
    'was last used in an impossible month': `
      SELECT id FROM token WHERE active_month NOT BETWEEN 0 AND ${LAST_MONTH}`,
    'is a token and a tombstone at once': `
      SELECT t.id FROM token t JOIN tombstone b ON b.tenant = t.tenant AND b.id = t.id`,
    'has no valid list of blind indexes': `
      SELECT id FROM token WHERE length(blinds) < ${BLIND_LENGTH} OR length(blinds) % ${BLIND_LENGTH} <> 0`,
    'is in a container set that does not exist': `
      SELECT id FROM token
      WHERE set_number > 0 AND (tenant, set_number) NOT IN (SELECT tenant, number FROM container_set)`,
  }),
  ...checksOf('token_index', {
    'an index entry leads to no token': `
      SELECT lower(hex(i.blind)) FROM token_index i LEFT JOIN token t ON t.token = i.token
      WHERE t.token IS NULL OR t.tenant <> i.tenant OR t.set_number <> i.set_number OR t.created_at <> i.created_at`,
  }),
  ...checksOf('container_set', {
    'is a container set without tokens': `
      SELECT DISTINCT lower(hex(s.name)) FROM container_set s
      WHERE CASE number WHEN 0 THEN NOT EXISTS (SELECT 1 FROM token_index i WHERE i.tenant = s.tenant AND i.blind = s.name)
        ELSE NOT EXISTS (SELECT 1 FROM token t WHERE t.tenant = s.tenant AND t.set_number = s.number) END`,
  }),
  ...checksOf('audit_index', {
    'names rows beyond its own end or beyond the end of the audit': `
      SELECT '' WHERE (SELECT max(sequence) FROM audit_index WHERE blind <> x'') >
        (SELECT coalesce(max(sequence), 0) FROM audit_index WHERE blind = x'')
      OR (SELECT max(sequence) FROM audit_index) > (SELECT coalesce(max(sequence), 0) FROM audit)
      OR (SELECT count(*) FROM audit_index WHERE blind = x'') > 1`,
    'names audit rows that were removed': `
      SELECT '' WHERE (SELECT min(sequence) FROM audit_index WHERE blind <> x'') < (SELECT min(sequence) FROM audit)`,
  }),
  ...checksOf('counter', {
    'the last creation time of a type differs from that of its last token': `
      SELECT ${TENANT('c.tenant')} || ' type ' || c.type
      FROM (SELECT tenant, type, max(at) AS at FROM counter WHERE type <> 0 GROUP BY 1, 2) c WHERE c.at IS NOT max(
      coalesce((SELECT max(created_at) FROM token t WHERE t.tenant = c.tenant AND t.type = c.type), 0),
      coalesce((SELECT max(created_at) FROM tombstone b WHERE b.tenant = c.tenant AND b.type = c.type), 0))`,
    'the counter of a month is lower than the number of its tokens': `
      SELECT ${TENANT('t.tenant')} || ' month ' || t.active_month FROM token t
      GROUP BY t.tenant, t.active_month HAVING count(*) > coalesce(
        (SELECT sum(count) FROM counter a WHERE a.tenant = t.tenant AND a.type = 0 AND a.month = t.active_month), 0)`,
  }),
];

interface TokenRow extends Readonly<Record<'token' | 'tenant' | 'set_number' | 'created_at', number>> {
  readonly id: string;
  readonly blinds: Buffer;
}

/**
 * Selects the ids of tokens with more entries in the index than their own lists name. The rest of a truncated list
 * counts as one entry.
 */
const SUPERFLUOUS_ENTRIES = `SELECT t.id FROM token t
  JOIN (SELECT token, count(*) AS entries FROM token_index GROUP BY token) i ON i.token = t.token
  WHERE i.entries > (length(t.blinds) + ${BLIND_LENGTH - 1}) / ${BLIND_LENGTH} ORDER BY t.token`;

/** Runs every check of the tables that needs no key and returns the findings. Call it inside one read transaction. */
export function inspectTables(connection: Connection): readonly Finding[] {
  const structure = connection.pragma('integrity_check(20)') as readonly { readonly integrity_check: string }[];
  const damage = structure.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  const findings: Finding[] = damage.map((what) => ({ table: 'file', id: '', what }));
  for (const { table, what, sql } of CHECKS) {
    const ids = connection.prepare<[], string>(sql).pluck().all();
    findings.push(...ids.map((id) => ({ table, id, what })));
  }
  return [...findings, ...inspectCounters(connection), ...inspectSets(connection), ...inspectIndex(connection)];
}

/** Selects a text that names a row of `counter`, and a number to add to its count. */
const countedBy = (month: string, number: string, table: string) =>
  `SELECT tenant || ' ' || type || ' ' || ${month} || ' ' || key_id || ' ' || index_key_id, ${number} FROM ${table}`;

/** Compares the counters of types with the tokens. A GROUP BY in SQLite would sort all tokens in memory. */
function inspectCounters(connection: Connection): readonly Finding[] {
  const counts = new Map<string, number>();
  for (const sql of [countedBy('0', '-1', 'token'), countedBy('month', 'count', 'counter WHERE type <> 0')]) {
    const rows = connection.prepare<[], readonly [string, number]>(sql).raw();
    for (const [group, number] of rows.iterate()) counts.set(group, (counts.get(group) ?? 0) + number);
  }
  const tenantOf = connection.prepare<[number], string>(`SELECT ${TENANT('column1')} FROM (VALUES (+?))`).pluck();
  const wrong = [...counts].filter(([, number]) => number !== 0).map(([group]) => group.split(' '));
  const ids = new Set(wrong.map(([tenant, type]) => `${tenantOf.get(Number(tenant))} type ${type}`));
  const what = 'the counter of a type differs from the number of its tokens';
  return [...ids].map((id) => ({ table: 'counter', id, what }));
}

/** Compares the name of each container set with its containers. A set with two numbers counts as two sets. */
function inspectSets(connection: Connection): readonly Finding[] {
  const rows = connection.prepare<[], Readonly<Record<'set' | 'id', string> & Record<'container', Buffer>>>(
    `SELECT lower(hex(name)) AS id, tenant || ' ' || number || ' ' || hex(name) AS "set",
       CAST(ifnull(container, '') AS BLOB) AS container FROM container_set`,
  );
  const sets = Map.groupBy(rows.iterate(), ({ set }) => set);
  return [...sets.values()]
    .filter((members) => nameOf(members.map((each) => each.container)).toString('hex') !== members[0]?.id)
    .map(([one]) => ({ table: 'container_set', id: one?.id ?? '', what: 'is not named by its containers' }));
}

/** Compares each token's own list of blind indexes with the entries of the index, in both directions. */
function inspectIndex(connection: Connection): readonly Finding[] {
  const findings: Finding[] = [];
  const entry = connection
    .prepare<[number, Buffer, number, number, number], number>(
      `SELECT 1 FROM token_index
        WHERE tenant = +? AND blind = +? AND set_number = +? AND created_at = +? AND token = +?`,
    )
    .pluck();
  const tokens = connection.prepare<[], TokenRow>(
    'SELECT token, tenant, id, set_number, created_at, blinds FROM token',
  );
  let listed = 0;
  for (const { token, tenant, id, set_number, created_at, blinds } of tokens.iterate()) {
    const named = splitBlinds(blinds);
    listed += new Set(named.map((blind) => blind.toString('latin1'))).size;
    if (named.some((blind) => entry.get(tenant, blind, set_number, created_at, token) === undefined)) {
      findings.push({ table: 'token_index', id, what: 'an index entry of the token is missing' });
    }
  }
  // If every listed entry is there, an equal number leaves none over. The query sorts all entries in memory.
  if (findings.length === 0 && selectNumber(connection, 'SELECT count(*) FROM token_index') === listed) return [];
  for (const id of connection.prepare<[], string>(SUPERFLUOUS_ENTRIES).pluck().iterate()) {
    findings.push({ table: 'token_index', id, what: 'the token has an unexpected index entry' });
  }
  return findings;
}
