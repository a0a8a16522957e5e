import type { Instant } from '../../core/ports.ts';
import type { Connection } from './driver.ts';
import { once } from './once.ts';

/** When the direct door last removed what had expired: one row for all processes. Synchronous. */
export function sweepClaims(connection: Connection) {
  const isDue = once(() => connection.prepare<[number], number>('SELECT swept_at <= ? FROM change').pluck());
  const claim = once(() => connection.prepare<[number, number]>('UPDATE change SET swept_at = ? WHERE swept_at <= ?'));
  return {
    isDue: (due: Instant): boolean => isDue().get(due) === 1,
    /** False when another process was faster. Needs a transaction around it. */
    claim: (now: Instant, due: Instant): boolean => claim().run(now, due).changes === 1,
  };
}
