import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { seededNumbers } from './perform.ts';
import { rotateUnderLoad } from './rotation-run.ts';
import { startServedVault } from './served-vault.ts';

const SIZES = {
  quick: { tokens: 300, kills: 3 },
  full: { tokens: 100_000, kills: 25, beforeMs: 4000 },
} as const;

/** The largest factor by which a rotation may slow down the slowest reads. */
const MAX_SLOWER = 2;

/**
 * Removes a slot while a daemon runs. Resolves to the exit code of a command with the removed key file, and to the
 * status of a request to the daemon.
 */
async function removedSlotExit() {
  await using vault = await startServedVault();
  const other = `${vault.file}.other`;
  await vault.cli(['keys', 'add', '--new-key-file', other], '');
  await vault.cli(['keys', 'remove', '--slot', '0', '--yes', '--key-file', other], '');
  const exit = await vault.cli(['keys', 'list'], '').then(
    () => 0,
    (error: { readonly code: number }) => error.code,
  );
  const { status } = await vault.remote(vault.everything, 'listTokens');
  return { exit, served: status };
}

function judge(run: Awaited<ReturnType<typeof rotateUnderLoad>>, least: number): void {
  const { killed, refused, lost, doctorOk, keys, oldKeysLeft } = run;
  const sound = refused === 0 && lost === 0 && doctorOk && keys === 2 && oldKeysLeft === 0;
  if (!sound) throw new CheckFailure('a rotation lost, refused or left something', { ...run });
  if (killed < least) throw new CheckFailure('too few rotations were killed on the way', { ...run });
}

/**
 * Checks that killed rotations lose nothing, that old keys are destroyed, and that a removed slot no longer opens the
 * vault.
 */
export const CHECK: Check = {
  number: 18,
  name: 'rotation',
  quick: false,
  runs: 'alone',
  async run({ seed, quick }: CheckOptions) {
    const size = quick ? SIZES.quick : SIZES.full;
    const run = await rotateUnderLoad({ ...size, random: seededNumbers(seed) });
    judge(run, size.kills);
    // A few reads give no useful 99th percentile.
    if (!quick && run.readP99During > MAX_SLOWER * run.readP99Before) {
      throw new CheckFailure('reads are slow while keys are rotated', { ...run });
    }
    const { exit, served } = await removedSlotExit();
    if (exit !== 10 || served !== 200) throw new CheckFailure('a removed slot', { exit, served });
    return { ...run, removed_slot_exit: exit };
  },
  /** Skips the final rotations, so that old keys remain in the file. */
  async control({ seed }: CheckOptions) {
    const run = await rotateUnderLoad({ tokens: 2000, kills: 1, random: seededNumbers(seed), unfinished: true });
    judge(run, 0);
  },
};
