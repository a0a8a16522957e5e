import { setTimeout as sleep } from 'node:timers/promises';
import { delayRelay } from '../../../bench/delay-relay.ts';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { percentile } from '../perform.ts';
import { type FleetOptions, startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const DAEMONS = 3;
const STOPS = { quick: 3, full: 30 } as const;
const STOPPED_MS = 2_000;
const MAX_PAUSE_MS = 1_000;
/** The share of writes that create a batch of tokens: in several statements, of which each needs an earlier answer. */
const BATCHES = 0.5;
/** The part of the built product that limits how long the server waits for the next statement. */
const LIMIT = builtText('isRepeated?"5s":"500ms"');

/** Stops one of three daemons amid its writes, again and again. The others do not wait for it. */
async function stop({ seed, quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  const stops = STOPS[quick ? 'quick' : 'full'];
  let relay: Awaited<ReturnType<typeof delayRelay>> | undefined;
  const fleet = await startFleet({
    daemons: DAEMONS,
    ...options,
    async portOf(port) {
      relay = await delayRelay(port);
      return relay.port;
    },
  });
  const load = fleetLoad(fleet, seed, { batches: BATCHES });
  const pauses: number[] = [];
  try {
    for (let done = 0; done < stops; done += 1) {
      const victim = done % DAEMONS;
      const { pause } = await load.writeDuring(victim, async () => {
        fleet.signal(victim, 'SIGSTOP');
        await sleep(STOPPED_MS);
        fleet.signal(victim, 'SIGCONT');
      });
      pauses.push(pause);
      if (!quick && pause >= MAX_PAUSE_MS) break;
    }
    const found = await load.finish({
      stops,
      pause_median_ms: percentile(pauses, 0.5),
      pause_max_ms: percentile(pauses, 1),
    });
    // Other checks run beside a quick run.
    if (percentile(pauses, quick ? 0.5 : 1) >= MAX_PAUSE_MS) throw new CheckFailure('the other daemons waited', found);
    return found;
  } finally {
    await fleet.close();
    relay?.stop();
  }
}

export const CHECK: Check = {
  number: 42,
  name: 'stop one of three daemons',
  quick: true,
  runs: 'alone',
  run: (options) => stop(options),
  /** Runs a product whose server waits longer for a stopped daemon. One pause of a full run suffices. */
  control: (options) => withPatch([LIMIT, '"5s"'], (bin) => stop({ ...options, quick: false }, { bin })),
};
