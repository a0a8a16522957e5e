import { setTimeout as sleep } from 'node:timers/promises';
import type { Check, CheckOptions } from '../check.ts';
import { startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const ROUNDS = { quick: 2, full: 20 } as const;
/** A daemon waits 2 s for a server that accepts writes. */
const MAX_WAIT_MS = 2_500;

/** Makes the server read-only under load and writable again. The daemons follow without a restart. */
async function turn({ seed, quick }: CheckOptions, returns: boolean) {
  await using fleet = await startFleet({ daemons: 2 });
  const load = fleetLoad(fleet, seed);
  const times = { refused_max_ms: 0, back_max_ms: 0 };
  let rounds = 0;
  const figures = () => ({ rounds, ...times, ...load.expected.figures() });

  async function setReadOnly(isOn: boolean): Promise<void> {
    const client = await fleet.sqlClient();
    await client.query('SET default_transaction_read_only = off');
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${isOn ? 'on' : 'off'}`);
    await client.query('SELECT pg_reload_conf()');
    await client.end();
  }
  const until = (status: number) => fleet.untilReadiness(status, MAX_WAIT_MS, figures());

  for (; rounds < ROUNDS[quick ? 'quick' : 'full']; rounds += 1) {
    await load.writeWhile(fleet.daemons, async () => {
      await sleep(200);
      await setReadOnly(true);
      times.refused_max_ms = Math.max(times.refused_max_ms, await until(503));
      await sleep(300);
      if (returns) await setReadOnly(false);
      times.back_max_ms = Math.max(times.back_max_ms, await until(200));
      await sleep(200);
    });
  }
  return await load.finish(figures());
}

export const CHECK: Check = {
  number: 27,
  name: 'read-only server',
  quick: true,
  run: (options) => turn(options, true),
  /** A server that stays read-only. */
  control: (options) => turn(options, false),
};
