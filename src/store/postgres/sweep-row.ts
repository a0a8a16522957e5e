import type { ExpiringRecords, Store } from '../../core/ports.ts';
import { decoded } from '../../core/problem.ts';
import { MAX_ROW, optionally, storedInstant, storedNumber, storedText } from '../rows/stored-value.ts';
import { APPLICATION_KEY_ROW, toApplicationKeyRecord } from './application-key-rows.ts';
import { APPLICATION_ROW, toApplicationRecord } from './application-rows.ts';
import type { Connections, Transaction } from './connections.ts';
import { firstValue, type Row } from './sql-client.ts';
import { TOKEN_COLUMNS, toTokenRecord } from './token-reads.ts';
import { UNINDEX } from './token-statements.ts';
import { storedUuid } from './uuid-text.ts';

// A sweep is also due if the last one is far in the future: a sweep under a clock far ahead must not stop later ones.
// The column has no MAC, because an edit can only delay one sweep by an hour or start it at once.
const IS_DUE = 'SELECT swept_at NOT BETWEEN $1 AND $2 FROM vault.sweep';
const CLAIM = 'UPDATE vault.sweep SET swept_at = $3 WHERE swept_at NOT BETWEEN $1 AND $2 RETURNING 1';

const NOTE = 'SELECT clock_note FROM vault.sweep';
const REPLACE_NOTE = 'UPDATE vault.sweep SET clock_note = $1 WHERE clock_note = $2 RETURNING 1';

const optionalInstant = optionally(storedInstant);

/** Selects the first or last expiry of live records. The other conditions are those of the indexes. */
function expiries(aggregate: 'min' | 'max', condition: string): string {
  return `SELECT ${aggregate}(expires_at) AS at FROM vault.token
      WHERE expires_at IS NOT NULL AND deleted_at IS NULL AND expires_at ${condition}
    UNION ALL SELECT ${aggregate}(expires_at) FROM vault.application WHERE expires_at IS NOT NULL AND expires_at ${condition}
    UNION ALL SELECT ${aggregate}(expires_at) FROM vault.application_key WHERE expires_at IS NOT NULL AND expires_at ${condition}`;
}
const LATEST = `SELECT max(at) FROM (${expiries('max', '<= $1')}) e`;
const NEXT = `SELECT min(at) FROM (${expiries('min', '> $1')}) e`;

/** The number of rows of a removed tenant that one transaction removes from a table. */
const PURGE_BATCH = 1000;

/** Selects the expired rows `e` of a table, earliest expiry first. Parameters: now, limit, the rows to skip. */
const expiredRows = (table: keyof ExpiringRecords, live: string, columns: string) =>
  `SELECT e.${table}, n.id, ${columns} FROM vault.${table} e JOIN vault.tenant n ON n.tenant = e.tenant
WHERE e.expires_at <= $1 AND e.expires_at IS NOT NULL ${live} AND e.${table} BETWEEN 1 AND ${MAX_ROW} AND e.${table} <> ALL ($3::bigint[])
ORDER BY e.expires_at LIMIT $2`;

const EXPIRED: {
  readonly [Table in keyof ExpiringRecords]: readonly [
    query: string,
    decode: (tenantId: string, row: Row) => ExpiringRecords[Table],
  ];
} = {
  token: [expiredRows('token', 'AND e.deleted_at IS NULL', TOKEN_COLUMNS.replaceAll('t.', 'e.')), toTokenRecord],
  application: [expiredRows('application', '', APPLICATION_ROW.of('e')), toApplicationRecord],
  application_key: [expiredRows('application_key', '', APPLICATION_KEY_ROW.of('e')), toApplicationKeyRecord],
};

const PURGED = 'SELECT tenant FROM vault.purge ORDER BY tenant LIMIT 1 FOR UPDATE SKIP LOCKED';
/** Parameters: tenant, limit. Each returns the number of removed rows. */
const PURGES: readonly string[] = [
  `WITH stale AS MATERIALIZED (SELECT * FROM vault.token_index WHERE tenant = $1
  ORDER BY blind, set_number, created_at, token LIMIT $2), ${UNINDEX} SELECT count(*) FROM stale`,
  `WITH gone AS (DELETE FROM vault.token WHERE token = ANY (ARRAY(
  SELECT token FROM vault.token WHERE tenant = $1 ORDER BY id LIMIT $2)) RETURNING 1) SELECT count(*) FROM gone`,
];
const END_PURGE = 'DELETE FROM vault.purge WHERE tenant = $1';

/** Removes some tokens of a removed tenant. Resolves to whether there may be more. */
async function purgeTokens({ run }: Transaction): Promise<boolean> {
  const [row] = await run(PURGED);
  if (row === undefined) return false;
  const tenant = storedNumber(row[0]);
  for (const purge of PURGES) {
    if (storedNumber(firstValue(await run(purge, [tenant, PURGE_BATCH]))) === PURGE_BATCH) return true;
  }
  await run(END_PURGE, [tenant]);
  return true;
}

export function sweepMethods({ read, readSlow, change }: Connections) {
  return {
    async claimSweep(now, interval) {
      const near = [now - interval + 1, now + interval - 1];
      // Read first: most callers do not get the claim, and a read needs no lock.
      const isDue = firstValue(await read(IS_DUE, near)) === true;
      return isDue && change(async ({ run }) => (await run(CLAIM, [...near, now])).length === 1);
    },

    clockNote: async () => storedText(firstValue(await read(NOTE))),

    replaceClockNote: (note, expected) =>
      change(async ({ run }) => (await run(REPLACE_NOTE, [note, expected])).length === 1),

    latestExpiry: async (now) => optionalInstant(firstValue(await read(LATEST, [now]))) ?? 0,

    nextExpiry: async (now) => optionalInstant(firstValue(await read(NEXT, [now]))),

    async findExpired(table, now, limit, skipped) {
      const [query, decode] = EXPIRED[table];
      const rows = await readSlow(query, [now, limit, [...skipped]]);
      return rows.map(([row, tenantId, ...columns]) => ({
        row: storedNumber(row),
        record: decoded(() => decode(storedUuid(tenantId), columns)),
      }));
    },

    async purgeTenants() {
      while (await change(purgeTokens));
    },
  } satisfies Partial<Store>;
}
