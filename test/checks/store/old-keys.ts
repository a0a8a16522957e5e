import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { type FleetOptions, startFleet } from './fleet.ts';

const ROUNDS = { quick: 200, full: 10_000 } as const;
/** The statuses of an unknown key. A daemon answers more than twenty of them a second with 429. */
const REFUSED: readonly number[] = [401, 429];
/** The part of the built product that compares a known key with the audit before each call. */
const COMPARES = builtText('context.follower.isUnchanged(entry.stamp)');

/** Replaces a key through one daemon, and uses the old and the new key at once through another. */
async function replace({ quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  await using fleet = await startFleet({ daemons: 2, ...options });
  const counts = { rounds: 0, old_keys_accepted: 0, new_keys_refused: 0 };
  const body = { name: 'replaced', type: 'public', permissions: ['token:create'] };
  const made = await fleet.at(0)(fleet.management, 'createApplication', { body });
  const id = String(made.body['id']);
  let old = String(made.body['key']);
  while (counts.rounds < ROUNDS[quick ? 'quick' : 'full']) {
    const [first, second] = counts.rounds % 2 === 0 ? [0, 1] : [1, 0];
    const ask = async (apiKey: string) => (await fleet.at(second ?? 0)(apiKey, 'getApplicationByKey')).status;
    // The key is valid, but has no permission for this. The second daemon then has the old key in its memory.
    await ask(old);
    const regenerated = await fleet.at(first ?? 0)(fleet.management, 'regenerateApplicationKey', { id });
    const key = String(regenerated.body['key']);
    const [withOld, withNew] = [await ask(old), await ask(key)];
    const isRefused = REFUSED.includes(withOld);
    if (!isRefused) counts.old_keys_accepted += 1;
    if (withNew !== 403) counts.new_keys_refused += 1;
    if (!isRefused || withNew !== 403) {
      throw new CheckFailure(`the old key was answered ${withOld}, the new one ${withNew}`, counts);
    }
    old = key;
    counts.rounds += 1;
  }
  return counts;
}

export const CHECK: Check = {
  number: 24,
  name: 'old keys on another daemon',
  quick: true,
  run: (options) => replace(options),
  /** Runs a product that never compares a known key with later changes. */
  control: (options) => withPatch([COMPARES, '!0'], (bin) => replace(options, { bin })),
};
