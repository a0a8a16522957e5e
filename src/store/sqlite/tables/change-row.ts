import type { Instant } from '../../../core/ports.ts';
import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { storedInstant } from './columns.ts';

/** `kept` is in the file; `passed` is the latest expiry at or before an instant, 0 when there is none. */
interface Expiries {
  readonly kept: Instant;
  readonly passed: Instant;
}

/** What all processes share about expiry, in the one row of `change`. Synchronous; writes need a transaction. */
export function changeRow(connection: Connection) {
  const { rows, value } = statements(connection);
  const isDue = value<[number], number>('SELECT swept_at <= ? FROM change');
  const claim = rows<[number, number]>('UPDATE change SET swept_at = ? WHERE swept_at <= ?');
  const expiries = rows<[Instant, Instant], Expiries>(`
    SELECT expired_at AS kept, max(
      ifnull((SELECT max(expires_at) FROM token WHERE expires_at <= ?), 0),
      ifnull((SELECT max(expires_at) FROM application WHERE expires_at <= ?), 0)
    ) AS passed FROM change`);
  const raise = rows<[Instant]>('UPDATE change SET expired_at = max(expired_at, ?)');

  return {
    isSweepDue: (due: Instant): boolean => isDue().get(due) === 1,

    /** False when another process was faster. */
    claimSweep: (now: Instant, due: Instant): boolean => claim().run(now, due).changes === 1,

    readExpiries(now: Instant): Expiries {
      const found = expiries().get(now, now);
      if (found === undefined) throw new Problem('integrity_failure');
      return { kept: storedInstant(found.kept), passed: found.passed };
    },

    /** Written only when something has expired since. */
    keepExpiry(passed: Instant): void {
      raise().run(passed);
    },
  };
}
