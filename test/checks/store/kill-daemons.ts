import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { percentile } from '../perform.ts';
import { startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const DAEMONS = 3;
const CYCLES = { quick: 4, full: 200 } as const;
const MAX_P99_MS = 1_000;
const BATCHES = 0.1;

/** Kills one of three daemons under load, again and again. The others continue, and nothing is lost. */
async function kills({ seed, quick }: CheckOptions, trusting: boolean) {
  await using fleet = await startFleet({ daemons: DAEMONS });
  const load = fleetLoad(fleet, seed, { trusting, batches: BATCHES });
  const times: number[] = [];
  let cycles = 0;
  const figures = () => ({ cycles, ...load.expected.figures(), others_p99_ms: percentile(times, 0.99) });
  while (cycles < CYCLES[quick ? 'quick' : 'full']) {
    const victim = cycles % DAEMONS;
    const others = await load.writeDuring(victim, async () => {
      await fleet.kill(victim);
      await sleep(200);
    });
    times.push(...others.times);
    await fleet.start(victim);
    cycles += 1;
  }
  const found = await load.finish(figures());
  if (percentile(times, 0.99) >= MAX_P99_MS) throw new CheckFailure('the other daemons waited', found);
  return found;
}

export const CHECK: Check = {
  number: 20,
  name: 'kill one of three daemons',
  quick: true,
  run: (options) => kills(options, false),
  /** Counts writes as acknowledged when they are sent, so that a kill must lose some. */
  control: (options) => kills({ ...options, quick: false }, true),
};
