import type { Credential } from './credential.ts';
import { encodeFields } from './field-encoder.ts';
import { loadLargeSodium, type Sodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

export const SALT_BYTES = 16;

/** The cost of Argon2id 1.3 (RFC 9106) with one lane. */
export interface PassphraseCost {
  readonly passes: number;
  readonly memory_kib: number;
}

export const PASSPHRASE_COST: PassphraseCost = { passes: 3, memory_kib: 64 * 1024 };

/**
 * The accepted cost of a slot. The file is not trusted until it is unlocked: a lower cost would make guessing too
 * cheap, a higher one would exhaust this machine's memory or take hours.
 */
const COST_BOUNDS = {
  passes: { min: 2, max: 16 },
  memory_kib: { min: 19 * 1024, max: 1024 * 1024 },
} as const satisfies Record<keyof PassphraseCost, { readonly min: number; readonly max: number }>;

/**
 * The maximum cost of all slots together, in passes times KiB, since a wrong passphrase is tried on each slot. It
 * equals the maximum of one slot.
 */
const MAX_WORK = COST_BOUNDS.passes.max * COST_BOUNDS.memory_kib.max;

export function isWithinBounds(cost: PassphraseCost): boolean {
  return (['passes', 'memory_kib'] as const).every((name) => {
    const { min, max } = COST_BOUNDS[name];
    return cost[name] >= min && cost[name] <= max;
  });
}

/** Returns whether slots of these costs, each within bounds, may all be tried in sequence. */
export function isBearable(costs: readonly PassphraseCost[]): boolean {
  return costs.reduce((work, { passes, memory_kib }) => work + passes * memory_kib, 0) <= MAX_WORK;
}

/**
 * Returns a slot's key-encryption key (KEK) and its commitment, the halves of 64 derived bytes: keyed BLAKE2b over the
 * salt for a key file, Argon2id for a passphrase. The commitment may be stored; the KEK may not. The caller checks
 * `cost`, which only a passphrase uses, and wipes the KEK.
 */
export async function deriveSlotKeys(sodium: Sodium, credential: Credential, salt: Uint8Array, cost: PassphraseCost) {
  let derived: Uint8Array;
  if (credential.kind === 'key_file') {
    const message = encodeFields('token-vault key file', salt);
    derived = sodium.crypto_generichash(2 * KEY_BYTES, message, credential.key);
  } else {
    // NFC (UAX #15): the same passphrase gives the same bytes on every system.
    const passphrase = Buffer.from(credential.passphrase.normalize('NFC'), 'utf8');
    const sumo = await loadLargeSodium();
    const algorithm = sumo.crypto_pwhash_ALG_ARGON2ID13;
    const { passes, memory_kib } = cost;
    const name = `${passes} ${memory_kib} ${Buffer.from(salt).toString('hex')}`;
    const { keys: kept, keeps } = credential.derived ?? {};
    derived =
      kept?.get(name) ?? sumo.crypto_pwhash(2 * KEY_BYTES, passphrase, salt, passes, memory_kib * 1024, algorithm);
    if (keeps) kept?.set(name, new Uint8Array(derived));
    else kept?.delete(name);
    passphrase.fill(0);
  }
  const part = (from: number, to: number) => new Uint8Array(derived.subarray(from, to));
  const keys = { commitment: part(0, KEY_BYTES), kek: part(KEY_BYTES, 2 * KEY_BYTES) };
  derived.fill(0);
  return keys;
}
