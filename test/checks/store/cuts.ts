import { setTimeout as sleep } from 'node:timers/promises';
import { CUTS, type CutProxy, startCutProxy } from '../../postgres/cut-proxy.ts';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { seededNumbers } from '../perform.ts';
import { type FleetOptions, startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const WANTED = { quick: 20, full: 1_000 } as const;
const ALL_CUTS = [...CUTS, 'late COMMIT', 'late'] as const;
/** The time in which an armed proxy must meet a COMMIT, in milliseconds. */
const MAX_WAIT_MS = 10_000;
/** The part of the built product that asks which of the lost entries exist. */
const ASKS = builtText('!written.has(write.audit)');
/** The part that looks for the entry of a refused write whose COMMIT was lost. */
const LOOKS_AGAIN = builtText('write?.audit&&written.has(write.audit)?');

/** Cuts connections of two daemons around COMMIT, under load. Each write then has exactly one outcome. */
async function cut({ seed, quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  const random = seededNumbers(seed);
  let proxy: CutProxy | undefined;
  const fleet = await startFleet({
    daemons: 2,
    ...options,
    async portOf(port) {
      proxy = await startCutProxy(port);
      return proxy.port;
    },
  });
  const load = fleetLoad(fleet, seed);
  try {
    const wanted = WANTED[quick ? 'quick' : 'full'];
    await load.writeWhile(fleet.daemons, async (failure) => {
      for (let done = 0; done < wanted && proxy !== undefined; done += 1) {
        const before = proxy.cuts();
        proxy.arm(ALL_CUTS[Math.floor(random() * ALL_CUTS.length)] ?? 'after COMMIT');
        const deadline = performance.now() + MAX_WAIT_MS;
        while (proxy.cuts() === before) {
          if (failure() !== undefined) throw failure();
          if (performance.now() > deadline)
            throw new CheckFailure('no write reached the proxy', load.expected.figures());
          await sleep(5);
        }
        // Let some writes pass between two cuts.
        await sleep(50 + random() * 100);
      }
    });
    return await load.finish({ cuts: proxy?.cuts() ?? 0 });
  } finally {
    await fleet.close();
    await proxy?.close();
  }
}

export const CHECK: Check = {
  number: 22,
  name: 'cut connections',
  quick: true,
  run: (options) => cut(options),
  /** Runs a product that repeats a lost write without asking whether it was committed. */
  control: (options) =>
    withPatch([ASKS, 'true', [LOOKS_AGAIN, 'false?']], (bin) => cut({ ...options, quick: true }, { bin })),
};
