import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { type Perform, seededNumbers } from '../perform.ts';
import { rotateBesideLoad } from '../rotation-load.ts';
import { type Fleet, startFleet } from './fleet.ts';

const DAEMONS = [0, 1, 2] as const;
const SIZES = { quick: { tokens: 100, kills: 3 }, full: { tokens: 20_000, kills: 25 } } as const;
const MAX_LOCKED_MS = 5_000;

async function wrappedKeys(fleet: Fleet): Promise<readonly string[]> {
  const client = await fleet.sqlClient();
  const { rows } = await client.query(`SELECT encode(wrapped, 'hex') AS wrapped FROM vault.tenant_key`);
  await client.end();
  return rows.map(({ wrapped }) => String(wrapped));
}

/** Stops a daemon during rotations of all keys. It must serve at once when it goes on. */
async function missRotation(fleet: Fleet, id: string): Promise<number> {
  const daemon = DAEMONS.length - 1;
  fleet.signal(daemon, 'SIGSTOP');
  for (const flags of [['--indexes'], ['--master']]) await fleet.cli('keys', 'rotate', '--yes', ...flags);
  fleet.signal(daemon, 'SIGCONT');
  const { status: read } = await fleet.at(daemon)(fleet.everything, 'getToken', { id });
  const { status: made } = await fleet.at(daemon)(fleet.everything, 'createToken', {
    body: { type: 'token', data: 1 },
  });
  return read === 200 && made === 201 ? 0 : 1;
}

/** Removes the slot that the daemons use. Resolves to the number of daemons that are then still ready. */
async function removeSlot(fleet: Fleet): Promise<number> {
  const other = `${fleet.keyFile}.other`;
  await fleet.cli('keys', 'add', '--new-key-file', other);
  await fleet.cli('keys', 'remove', '--slot', '0', '--yes', '--key-file', other);
  const deadline = performance.now() + MAX_LOCKED_MS;
  for (;;) {
    const states = await Promise.all(DAEMONS.map((daemon) => fleet.readiness(daemon)));
    const ready = states.filter((status) => status === 200).length;
    if (ready === 0 || performance.now() > deadline) return ready;
    await sleep(50);
  }
}

/** Rotates keys while three daemons serve, and kills rotations on the way. */
async function rotate({ seed, quick }: CheckOptions, isRotating: boolean) {
  const random = seededNumbers(seed);
  const { tokens, kills } = SIZES[quick ? 'quick' : 'full'];
  await using fleet = await startFleet({ daemons: DAEMONS.length });
  const remote: Perform = (...call) => fleet.at(Math.floor(random() * DAEMONS.length))(...call);
  const spawnRotation = (...flags: readonly string[]) => fleet.spawn('keys', 'rotate', '--yes', ...flags);
  let old: readonly string[] = [];
  const { figures: rotated, countLost } = await rotateBesideLoad(
    { remote, everything: fleet.everything, spawnRotation },
    {
      tokens,
      kills: isRotating ? kills : 0,
      random,
      async onTokens() {
        old = await wrappedKeys(fleet);
      },
      async finish() {
        for (const flags of isRotating ? [['--indexes'], ['--indexes'], ['--master']] : [])
          await fleet.cli('keys', 'rotate', '--yes', ...flags);
      },
    },
  );
  const missed = isRotating ? await missRotation(fleet, 'rotated-0') : 0;
  const lost = await countLost();
  const left = await wrappedKeys(fleet);
  const { ok } = JSON.parse(await fleet.cli('doctor'));
  const figures = {
    ...rotated,
    lost,
    missed,
    keys: left.length,
    old_keys_left: left.filter((key) => old.includes(key)).length,
    doctor_ok: ok === true,
    ready_without_slot: await removeSlot(fleet),
  };
  const wrong = figures.refused + lost + missed + figures.old_keys_left + figures.ready_without_slot;
  if (wrong > 0 || !figures.doctor_ok || figures.keys !== 2) {
    throw new CheckFailure('a rotation lost, refused or left something', figures);
  }
  if (figures.killed < kills) throw new CheckFailure('too few rotations were killed on the way', figures);
  return figures;
}

export const CHECK: Check = {
  number: 28,
  name: 'rotation with three daemons',
  quick: true,
  run: (options) => rotate(options, true),
  control: (options) => rotate({ ...options, quick: true }, false),
};
