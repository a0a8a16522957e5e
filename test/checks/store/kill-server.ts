import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { percentile } from '../perform.ts';
import { type FleetOptions, startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const CYCLES = { quick: 3, full: 50 } as const;
const MAX_READY_MS = 2_000;
const DURABLE = builtText('READ COMMITTED; SET LOCAL synchronous_commit TO on;\n      SET LOCAL statement_timeout');

/** Kills PostgreSQL under load, again and again. The daemons answer only 503 meanwhile, and recover by themselves. */
async function kills({ seed, quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  await using fleet = await startFleet({ daemons: 2, ...options });
  const load = fleetLoad(fleet, seed);
  const ready: number[] = [];
  let cycles = 0;
  const figures = () => ({ cycles, ...load.expected.figures(), ready_max_ms: percentile(ready, 1) });
  while (cycles < CYCLES[quick ? 'quick' : 'full']) {
    await load.writeWhile(fleet.daemons, async () => {
      await sleep(200 + Math.random() * 300);
      await fleet.server.crash();
      await sleep(300);
      await fleet.server.restart();
      ready.push(await fleet.untilReadiness(200, 2 * MAX_READY_MS, figures()));
      await sleep(200);
    });
    await load.verify(cycles % 2);
    cycles += 1;
  }
  const found = await load.finish(figures());
  if (percentile(ready, 1) >= MAX_READY_MS) throw new CheckFailure('not ready within 2 s', found);
  return found;
}

export const CHECK: Check = {
  number: 21,
  name: 'kill the server',
  quick: true,
  run: (options) => kills(options),
  /** Runs a product that lets the server acknowledge commits before they are on disk. */
  control: (options) =>
    withPatch([DURABLE, DURABLE.replace('TO on', 'TO off')], (bin) =>
      kills({ ...options, quick: false }, { bin, settings: { wal_writer_delay: '10s' } }),
    ),
};
