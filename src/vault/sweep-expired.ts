import { createExpiryRecorder } from '../core/audit/audit.ts';
import type { World } from '../core/handler.ts';
import type { LeftRows } from '../core/ports.ts';
import { inBatches } from './batches.ts';
import type { Timekeeper } from './timekeeper.ts';

/** The maximum number of expired records that a store removes at once. It holds them in memory. */
const EXPIRED_BATCH = 100;
const REPLY_BATCH = 500;

/** Returns the function that removes expired records, and the notice on those that its last run left. */
export function createSweep(world: World, timekeeper: Timekeeper | undefined) {
  const { store } = world;
  const expiryRecorder = createExpiryRecorder(world);
  let damaged = 0;

  return {
    /** Resolves to the number of removed records. Leaves damaged rows for the next run. */
    async sweepExpired(): Promise<number> {
      await world.activity.flush();
      await timekeeper?.keep();
      const now = () => world.clock.settled();
      await inBatches(REPLY_BATCH, () => store.removeOldReplies(now(), REPLY_BATCH));
      const left: LeftRows = { token: new Set(), application: new Set(), application_key: new Set() };
      const countLeft = () => Object.values(left).reduce((sum, { size }) => sum + size, 0);
      const seen = await inBatches(EXPIRED_BATCH, async () => {
        const before = countLeft();
        // The store opens each row that the process does not know yet, for each removed application.
        await world.follower.follow();
        const removed = await store.removeExpired(now(), EXPIRED_BATCH, expiryRecorder, left);
        return removed + countLeft() - before;
      });
      damaged = countLeft();
      return seen - damaged;
    },

    notices(): readonly string[] {
      if (damaged === 0) return [];
      const records = damaged === 1 ? 'record is' : 'records are';
      return [`${damaged} expired ${records} damaged and not removed: run \`vault doctor\``];
    },
  };
}
