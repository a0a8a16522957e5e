import type { EndedApplications } from '../../core/application-ports.ts';
import type { LeftRows, Store } from '../../core/ports.ts';
import { noLeftRows } from '../rows/left-rows.ts';
import { decoded, optionally, storedInstant, storedNumber, storedText } from '../rows/stored-value.ts';
import { removeApplication, removeKey } from './application-rows.ts';
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

type Expiring = 'application' | 'application_key';

/** Parameters: now, limit, the rows to leave out. Earliest expiry first. */
const EXPIRED_TOKENS = `SELECT t.token, n.id, ${TOKEN_COLUMNS} FROM vault.token t JOIN vault.tenant n ON n.tenant = t.tenant
WHERE t.expires_at <= $1 AND t.expires_at IS NOT NULL AND t.deleted_at IS NULL AND t.token <> ALL ($3::bigint[])
ORDER BY t.expires_at LIMIT $2`;
const expiredRows = (table: Expiring, columns: string) =>
  `SELECT a.${table}, n.tenant, n.id, ${columns} FROM vault.${table} a JOIN vault.tenant n ON n.tenant = a.tenant
WHERE a.expires_at <= $1 AND a.expires_at IS NOT NULL AND a.${table} <> ALL ($3::bigint[]) ORDER BY a.expires_at LIMIT $2`;
const EXPIRED = {
  application: expiredRows('application', 'a.id'),
  application_key: expiredRows('application_key', 'a.application_id, a.id'),
} as const;

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

/** Runs `decode`. If the row is damaged, adds it to `left` and returns undefined. */
function orLeave<T>(left: LeftRows[keyof LeftRows], row: unknown, decode: () => T): T | undefined {
  const result = decoded(decode);
  if (result === undefined) left.add(storedNumber(row));
  return result;
}

function toPlace([tenant, tenantId, id, keyId]: Row, table: Expiring) {
  const place = { tenant: storedNumber(tenant), tenantId: storedUuid(tenantId), id: storedUuid(id) };
  return table === 'application' ? place : { ...place, keyId: storedUuid(keyId) };
}

/** The removal of expired records also removes the tokens of removed tenants. */
export function sweepMethods({ read, readSlow, change }: Connections, { deleteToken }: Pick<Store, 'deleteToken'>) {
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

    async removeExpired(now, limit, recorder, left = noLeftRows()) {
      const { size } = left.token;
      const found = await readSlow(EXPIRED_TOKENS, [now, limit, [...left.token]]);
      const expired = found.map(([row, tenantId, ...columns]) =>
        orLeave(left.token, row, () => {
          const token = toTokenRecord(storedUuid(tenantId), columns);
          return { ...recorder.recordExpiry(token, now), revision: token.revision };
        }),
      );
      const removals = expired
        .filter((expiry) => expiry !== undefined)
        .map(({ tombstone, revision, audit }) => deleteToken(tombstone, revision, audit));
      // Another process may change or remove a token meanwhile.
      const removed = (await Promise.all(removals)).filter(Boolean).length;
      const rest = limit - removed - (left.token.size - size);
      const ended = await change(async (transaction) => {
        let count = 0;
        for (const table of ['application', 'application_key'] as const) {
          const values = [now, rest - count, [...left[table]]];
          for (const [row, ...columns] of await transaction.run(EXPIRED[table], values)) {
            const place = orLeave(left[table], row, () => toPlace(columns, table));
            if (place === undefined) continue;
            const audit = (ended: EndedApplications) => recorder.recordRemoval(place.tenantId, table, ended);
            // An earlier turn of this loop may have removed the row with its application.
            const isRemoved =
              'keyId' in place ? removeKey(transaction, place, audit) : removeApplication(transaction, place, audit);
            if (await isRemoved) count += 1;
          }
        }
        return count;
      });
      if (ended < rest) while (await change(purgeTokens));
      return removed + ended;
    },
  } satisfies Partial<Store>;
}
