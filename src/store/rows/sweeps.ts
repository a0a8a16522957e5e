import type { Instant, Store } from '../../core/ports.ts';
import { decoded } from '../../core/problem.ts';
import { readerOf, type SharedParts } from './dialect.ts';
import { type Fragment, list, raw, sql } from './fragment.ts';
import { askRows, askValue, askWhether } from './store-steps.ts';
import { MAX_ROW, optionally, storedNumber, storedText } from './stored-value.ts';

/** An impossible expiry of one record must not fail the calls of others. `vault doctor` reports it. */
const optionalInstant = optionally(Number);

export function sweepMethods({ dialect, read, readSlow, change }: SharedParts) {
  const { tables, among, by, liveTokens } = dialect;
  const { sweep } = dialect;
  const [table, sweptAt, note, isRow] = [raw(sweep.table), raw(sweep.sweptAt), raw(sweep.clockNote), raw(sweep.isRow)];
  const isLive = raw(liveTokens[1]);

  /**
   * A sweep is also due if the last one is far in the future: a sweep under a clock far ahead must not stop later ones.
   * The column has no MAC, because an edit can only delay one sweep by an hour or start it at once.
   */
  const isDue = (now: Instant, interval: number) =>
    sql`${isRow} AND ${sweptAt} NOT BETWEEN ${now - interval + 1} AND ${now + interval - 1}`;

  /** Returns the query of the first or last expiry. The other conditions are those of the indexes. */
  function expiry(aggregate: 'min' | 'max', condition: Fragment): Fragment {
    const expiries = (['token', 'application', 'application_key'] as const).map((from) => {
      const live = from === 'token' ? isLive : raw('TRUE');
      return sql`SELECT ${raw(`${aggregate}(expires_at) AS at FROM vault.${from}`)} t
        WHERE expires_at IS NOT NULL AND ${live} AND expires_at ${condition}`;
    });
    return sql`SELECT ${raw(aggregate)}(at) FROM (${list(expiries, ' UNION ALL ')}) e`;
  }

  return {
    async claimSweep(now, interval) {
      // Read first: most callers do not get the claim, and a read needs neither a commit nor a lock.
      if (!(await read(() => askWhether(sql`SELECT 1 FROM ${table} WHERE ${isDue(now, interval)}`)))) return false;
      return change('added', () =>
        askWhether(sql`UPDATE ${table} SET ${sweptAt} = ${now} WHERE ${isDue(now, interval)} RETURNING 1`),
      );
    },

    clockNote: () =>
      read(function* () {
        return storedText(yield* askValue(sql`SELECT ${note} FROM ${table} WHERE ${isRow}`));
      }),

    replaceClockNote: (text, expected) =>
      change('added', () =>
        askWhether(sql`UPDATE ${table} SET ${note} = ${text} WHERE ${isRow} AND ${note} = ${expected} RETURNING 1`),
      ),

    latestExpiry: (now) =>
      read(function* () {
        return optionalInstant(yield* askValue(expiry('max', sql`<= ${now}`))) ?? 0;
      }),

    nextExpiry: (now) =>
      read(function* () {
        return optionalInstant(yield* askValue(expiry('min', sql`> ${now}`)));
      }),

    /** Omits rows with a number that the vault never assigns, which doctor reports: it names no row exactly. */
    findExpired: (from, now, limit, skipped) =>
      readSlow(function* () {
        const { columns, decode } = readerOf(dialect, from);
        const number = raw(`t.${from}`);
        const rows = yield* askRows(sql`SELECT ${number}, n.id, ${raw(columns)}
          FROM ${raw(`vault.${from}`)} t ${by(`${from}_expiry`)} CROSS JOIN vault.tenant n
          WHERE n.tenant = t.tenant AND t.expires_at <= ${now} AND t.expires_at IS NOT NULL
            AND ${from === 'token' ? isLive : raw('TRUE')} AND ${number} BETWEEN 1 AND ${raw(`${MAX_ROW}`)}
            AND NOT ${among(`t.${from}`, 'bigint', [...skipped])}
          ORDER BY t.expires_at LIMIT ${limit}`);
        return rows.map(([row, tenantId, ...record]) => ({
          row: storedNumber(row),
          record: decoded(() => decode(tables.uuid.read(tenantId), record)),
        }));
      }),
  } satisfies Partial<Store>;
}
