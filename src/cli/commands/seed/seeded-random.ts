import { createHash } from 'node:crypto';
import type { Random } from '../../../core/ports.ts';
import { parseWhole } from '../../flags/quantities.ts';

/** Returns the value of `--seed`, a whole number from 0; undefined without one. Throws the fault `usage`. */
export function parseSeed(text: string | undefined): number | undefined {
  return text === undefined
    ? undefined
    : parseWhole(text, 0, Number.MAX_SAFE_INTEGER, '--seed must be a whole number from 0');
}

/**
 * Returns a source of bytes that are the same for the same label on every machine (SHA-256 in counter mode). Use it for
 * test data, never for a secret.
 */
export function seededBytes(label: string): (length: number) => Uint8Array {
  let unused = new Uint8Array();
  let counter = 0;
  return (length) => {
    while (unused.length < length) {
      const block = createHash('sha256').update(`vault seed\0${label}\0${counter++}`).digest();
      unused = new Uint8Array(Buffer.concat([unused, block]));
    }
    const taken = new Uint8Array(unused.subarray(0, length));
    unused = unused.subarray(length);
    return taken;
  };
}

/** Overrides randomness for ids and API keys of test vaults, on demand. */
export type SeededRandom = ReturnType<typeof seededRandom>;

export function seededRandom(seed: number) {
  let current: Pick<Random, 'bytes' | 'id'> | undefined;
  const at = (label: string): Pick<Random, 'bytes' | 'id'> => {
    const bytes = seededBytes(`${seed}\0${label}`);
    return { bytes, id: () => uuid(bytes(16)) };
  };
  return {
    /** Returns a new random source with the values that `during` uses for the same label. */
    at,
    /** Returns the vault's random source: the seeded one inside `during`, and the system's outside. */
    over: (system: Random): Random => ({
      bytes: (length) => (current ?? system).bytes(length),
      id: () => (current ?? system).id(),
      // Not seeded: a version 7 UUID contains the time.
      timeOrderedId: () => system.timeOrderedId(),
    }),
    /** Runs `work` with ids and keys that follow only from the seed and the label. Runs one `work` at a time. */
    async during<T>(label: string, work: () => Promise<T>): Promise<T> {
      if (current !== undefined) throw new TypeError(`unreachable: ${label} during another`);
      current = at(label);
      try {
        return await work();
      } finally {
        current = undefined;
      }
    },
  };
}

/** Returns a version 4 UUID of these bytes (RFC 9562 §5.4). */
function uuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
