import type { Context } from '../core/handler.ts';
import { removeExpired } from '../core/remove-expired.ts';
import { inBatches } from './batches.ts';
import type { Timekeeper } from './clock/timekeeper.ts';

/** The maximum number of expired records that a sweep reads at once. It holds them in memory. */
const EXPIRED_BATCH = 100;
const REPLY_BATCH = 500;

/** Returns the function that removes expired records, and the notice on those that its last run left. */
export function createSweep(context: Context, timekeeper: Timekeeper | undefined) {
  const { store } = context;
  let damaged = 0;

  return {
    /** Resolves to the number of removed records. Leaves damaged rows for the next run. */
    async sweepExpired(): Promise<number> {
      await context.activity.flush();
      await timekeeper?.keep();
      const now = () => context.clock.settled();
      await inBatches(REPLY_BATCH, () => store.removeOldReplies(now(), REPLY_BATCH));
      let removed = 0;
      let found = 0;
      for (const table of ['token', 'application', 'application_key'] as const) {
        const skipped = new Set<number>();
        await inBatches(EXPIRED_BATCH, async () => {
          const { size } = skipped;
          const expiries = await removeExpired(context, table, { now: now(), limit: EXPIRED_BATCH, skipped });
          removed += expiries.filter((expiry) => expiry === 'removed').length;
          found += expiries.filter((expiry) => expiry === 'damaged').length;
          // A damaged store may find the same rows again.
          const isDone = skipped.size === size && !expiries.includes('removed');
          return isDone ? 0 : expiries.length;
        });
      }
      await store.purgeTenants?.();
      damaged = found;
      return removed;
    },

    notices(): readonly string[] {
      if (damaged === 0) return [];
      const records = damaged === 1 ? 'record is' : 'records are';
      return [`${damaged} expired ${records} damaged and not removed: run \`vault doctor\``];
    },
  };
}
