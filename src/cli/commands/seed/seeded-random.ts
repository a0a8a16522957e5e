import { createHash } from 'node:crypto';
import type { Random } from '../../../core/ports.ts';
import { parseWhole } from '../../quantities.ts';

/** Returns `--seed`, a whole number from 0; undefined when it is not given. */
export function parseSeed(text: string | undefined): number | undefined {
  return text === undefined
    ? undefined
    : parseWhole(text, 0, Number.MAX_SAFE_INTEGER, '--seed must be a whole number from 0');
}

/**
 * Returns the same bytes for the same label on every machine: SHA-256 in counter mode. For test data, never for a
 * secret.
 */
export function seededBytes(label: string): (length: number) => Uint8Array {
  let left = new Uint8Array();
  let counter = 0;
  return (length) => {
    while (left.length < length) {
      const block = createHash('sha256').update(`vault seed\0${label}\0${counter++}`).digest();
      left = new Uint8Array(Buffer.concat([left, block]));
    }
    const taken = left.slice(0, length);
    left = left.slice(length);
    return taken;
  };
}

/** Overrides randomness for ids and API keys of test vaults, on demand. */
export interface SeededRandom {
  /** The vault's random source. Outside `during` it is the system's. */
  readonly over: (system: Random) => Random;
  /** Runs `work` with ids and keys that follow only from the seed and the label. One at a time. */
  during<T>(label: string, work: () => Promise<T>): Promise<T>;
  /** Returns a separate random source, which `during` uses for the same label. */
  at(label: string): Pick<Random, 'bytes' | 'id'>;
}

export function seededRandom(seed: number): SeededRandom {
  let current: Pick<Random, 'bytes' | 'id'> | undefined;
  const at = (name: string): Pick<Random, 'bytes' | 'id'> => {
    const bytes = seededBytes(`${seed}\0${name}`);
    return { bytes, id: () => uuid(bytes(16)) };
  };
  return {
    at,
    over: (system) => ({
      bytes: (length) => (current ?? system).bytes(length),
      id: () => (current ?? system).id(),
      // Version 7 contains the time, which no part of a seed needs.
      timeOrderedId: () => system.timeOrderedId(),
    }),
    async during(name, work) {
      if (current !== undefined) throw new TypeError(`unreachable: ${name} during another`);
      current = at(name);
      try {
        return await work();
      } finally {
        current = undefined;
      }
    },
  };
}

/** Makes a version 4 UUID of these bytes (RFC 9562 §5.4). */
function uuid(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
