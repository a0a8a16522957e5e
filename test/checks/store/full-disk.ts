import { chownSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { startFleet } from './fleet.ts';
import { fleetLoad } from './fleet-load.ts';

const DAEMONS = [0, 1] as const;
const ROUNDS = { quick: 1, full: 10 } as const;
/** The number of bytes left free at first, so that the disk fills up during a commit. */
const LEFT = 200_000;
const MIN_REFUSALS = 20;
const MAX_WAIT_MS = 10_000;
const MAX_RECOVERY_MS = 2_000;
/** The part of the built product that reports a full disk, and the report of a busy server. */
const FULL = builtText('/^53100$/,{reaction:"fail",problem:"no_space"');
const BUSY = '/^53100$/,{reaction:"fail",problem:"vault_busy"';

/** Puts the tables on a disk that fills up under load, and makes room again. The daemons follow without a restart. */
async function fillUp({ seed, quick }: CheckOptions, bin?: string) {
  const disk = mountSmallDisk();
  if (disk === undefined) throw new Error('this check needs root, which may mount a file system');
  const refused = DAEMONS.map(() => 0);
  const counts = { rounds: 0, recovery_max_ms: 0 };
  const fleet = await startFleet({
    daemons: DAEMONS.length,
    settings: { default_tablespace: 'small' },
    // With the default audit, reads of plaintext need space.
    flags: () => ['--audit', 'mutations'],
    faults: [503, 507],
    ...(bin !== undefined && { bin }),
    async portOf(port) {
      const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
      await client.connect();
      const { rows } = await client.query('SHOW data_directory');
      const { uid, gid } = statSync(rows[0].data_directory);
      chownSync(disk.folder, uid, gid);
      await client.query(`CREATE TABLESPACE small LOCATION '${disk.folder}'`);
      await client.end();
      return port;
    },
  });
  const load = fleetLoad(fleet, seed, {
    refused: (daemon) => {
      refused[daemon] = (refused[daemon] ?? 0) + 1;
    },
  });
  const figures = () => ({
    ...counts,
    refused: refused.reduce((sum, count) => sum + count, 0),
    ...load.expected.figures(),
  });

  async function writeUntilFull(): Promise<void> {
    const isRefused = await load.writeWhile(DAEMONS, async () => {
      await sleep(200);
      disk?.leave(LEFT, undefined);
      await sleep(200);
      disk?.leave(0, undefined);
      const wanted = refused.map((count) => count + MIN_REFUSALS);
      const isOver = () => refused.every((count, daemon) => count >= (wanted[daemon] ?? 0));
      const deadline = performance.now() + MAX_WAIT_MS;
      while (!isOver() && performance.now() < deadline) await sleep(20);
      return isOver();
    });
    if (!isRefused) throw new CheckFailure('the disk is full, and writes are not refused with 507', figures());
  }

  async function untilWritten(daemon: number): Promise<void> {
    const started = performance.now();
    const body = { type: 'token', data: { left: 0, right: 0 } };
    while ((await fleet.at(daemon)(fleet.everything, 'createToken', { body })).status !== 201) {
      if (performance.now() - started > MAX_RECOVERY_MS) {
        throw new CheckFailure('there is space again, and writes are still refused', figures());
      }
      await sleep(10);
    }
    counts.recovery_max_ms = Math.max(counts.recovery_max_ms, Math.round(performance.now() - started));
  }

  try {
    for (; counts.rounds < ROUNDS[quick ? 'quick' : 'full']; counts.rounds += 1) {
      await writeUntilFull();
      for (const daemon of DAEMONS) {
        await load.verify(daemon, true);
        const status = await fleet.readiness(daemon);
        if (status !== 200) throw new CheckFailure(`on a full disk, /readyz is answered ${status}`, figures());
      }
      const found = await fleet.cli('doctor');
      if (JSON.parse(found).ok !== true) throw new CheckFailure(`on a full disk, doctor: ${found}`, figures());
      disk.free(undefined);
      await Promise.all(DAEMONS.map(untilWritten));
    }
    return await load.finish(figures());
  } finally {
    await fleet.close();
    disk.remove();
  }
}

export const CHECK: Check = {
  number: 31,
  name: 'full disk of the server',
  quick: true,
  run: (options) => fillUp(options),
  /** Runs a product that takes a full disk for a busy server. */
  control: (options) => withPatch([FULL, BUSY], (bin) => fillUp({ ...options, quick: true }, bin)),
};
