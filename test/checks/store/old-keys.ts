import { type Check, CheckFailure, type CheckOptions } from '../check.ts';
import { builtText, withPatch } from '../patched-product.ts';
import { type FleetOptions, startFleet } from './fleet.ts';

const ROUNDS = { quick: 200, full: 10_000 } as const;
/** The statuses of an unknown key. A daemon answers more than twenty of them a second with 429. */
const REFUSED: readonly number[] = [401, 429];
/** The part of the built product that compares a known key with the audit before each call. */
const COMPARES = builtText('context.follower.isUnchanged(entry.stamp)');

/** Replaces, then adds and deletes keys through one daemon, and uses them at once through another. */
async function replace({ quick }: CheckOptions, options: Omit<FleetOptions, 'daemons'> = {}) {
  await using fleet = await startFleet({ daemons: 2, ...options });
  const counts = { rounds: 0, old_keys_accepted: 0, new_keys_refused: 0 };
  const body = { name: 'replaced', type: 'public', permissions: ['token:create'] };
  const made = await fleet.at(0)(fleet.management, 'createApplication', { body });
  const id = String(made.body['id']);
  let old = String(made.body['key']);
  while (counts.rounds < ROUNDS[quick ? 'quick' : 'full']) {
    const [one, other] = counts.rounds % 2 === 0 ? [0, 1] : [1, 0];
    const send = fleet.at(one ?? 0);
    const ask = async (apiKey: string) => (await fleet.at(other ?? 0)(apiKey, 'getApplicationByKey')).status;
    // The key is valid, but has no permission for this. The second daemon then has the old key in its memory.
    await ask(old);
    const regenerated = await send(fleet.management, 'regenerateApplicationKey', { id });
    const key = String(regenerated.body['key']);
    const added = await send(fleet.management, 'createApplicationKey', { id });
    const second = { id, keyId: String(added.body['id']), key: String(added.body['key']) };
    const answers = { old: await ask(old), new: await ask(key), second: await ask(second.key) };
    const deleted = await send(fleet.management, 'deleteApplicationKey', second);
    const after = { deleted: await ask(second.key), kept: await ask(key) };
    const isRefused = [answers.old, after.deleted].every((status) => REFUSED.includes(status));
    const isAccepted =
      [answers.new, answers.second, after.kept].every((status) => status === 403) && deleted.status === 204;
    if (!isRefused) counts.old_keys_accepted += 1;
    if (!isAccepted) counts.new_keys_refused += 1;
    if (!isRefused || !isAccepted) {
      throw new CheckFailure(JSON.stringify({ ...answers, ...after, status: deleted.status }), counts);
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
