import type { Instant } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';
import { storedInstant } from './stored-value.ts';

/** `kept` is in the file; `passed` is the latest expiry at or before an instant, 0 when there is none. */
interface Expiries {
  readonly kept: Instant;
  readonly passed: Instant;
}

/**
 * The latest expiry that any process has seen passed: one row for all, written only when something has expired since.
 * Synchronous.
 */
export function expiryMark(connection: Connection) {
  const expiries = once(() =>
    connection.prepare<[Instant, Instant], Expiries>(`
      SELECT expired_at AS kept, max(
        ifnull((SELECT max(expires_at) FROM token WHERE expires_at <= ?), 0),
        ifnull((SELECT max(expires_at) FROM application WHERE expires_at <= ?), 0)
      ) AS passed FROM change`),
  );
  const raise = once(() => connection.prepare<[Instant]>('UPDATE change SET expired_at = max(expired_at, ?)'));
  return {
    read(now: Instant): Expiries {
      const found = expiries().get(now, now);
      if (found === undefined) throw new Problem('integrity_failure');
      return { kept: storedInstant(found.kept), passed: found.passed };
    },
    /** Needs a transaction around it. */
    keep(passed: Instant): void {
      raise().run(passed);
    },
  };
}
