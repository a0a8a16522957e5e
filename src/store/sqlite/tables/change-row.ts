import type { Instant } from '../../../core/ports.ts';
import { storedText } from '../../rows/stored-value.ts';
import { type Connection, statements } from '../file/driver.ts';
import { FILE_ROW } from '../file/schema.ts';

/**
 * Reads and writes the times that all processes share, in the file's row of `counter`. All functions are synchronous;
 * writes need a transaction.
 */
export function changeRow(connection: Connection) {
  const { rows, value } = statements(connection);
  // Compare in both directions: a sweep under a clock far ahead must not stop later ones. The column has no MAC,
  // because an edit can only delay one sweep by an hour or start it at once.
  const isDue = value<[number, number], number>(`SELECT at NOT BETWEEN ? AND ? FROM counter WHERE ${FILE_ROW}`);
  const claim = rows<[number, number, number]>(
    `UPDATE counter SET at = ? WHERE ${FILE_ROW} AND at NOT BETWEEN ? AND ?`,
  );
  const note = value<[], string>(`SELECT clock FROM counter WHERE ${FILE_ROW}`);
  const replace = rows<[string, string]>(`UPDATE counter SET clock = ? WHERE ${FILE_ROW} AND clock = +?`);
  const expiries = (aggregate: 'min' | 'max', condition: string) =>
    ['token', 'application', 'application_key']
      .map((table) => `SELECT ${aggregate}(expires_at) AS at FROM ${table} WHERE expires_at ${condition} :now`)
      .join(' UNION ALL ');
  const latest = value<[{ readonly now: Instant }], Instant>(`SELECT max(at) FROM (${expiries('max', '<=')})`);
  const next = value<[{ readonly now: Instant }], Instant>(`SELECT min(at) FROM (${expiries('min', '>')})`);

  return {
    isSweepDue: (now: Instant, interval: number): boolean => isDue().get(now - interval + 1, now + interval - 1) === 1,

    /** Returns whether this call has claimed the sweep; false if another process was faster. */
    claimSweep: (now: Instant, interval: number): boolean =>
      claim().run(now, now - interval + 1, now + interval - 1).changes === 1,

    clockNote: (): string => storedText(note().get()),
    replaceClockNote: (text: string, expected: string): boolean => replace().run(text, expected).changes === 1,
    latestExpiry: (now: Instant): Instant => latest().get({ now }) ?? 0,
    nextExpiry: (now: Instant): Instant | undefined => next().get({ now }) ?? undefined,
  };
}
