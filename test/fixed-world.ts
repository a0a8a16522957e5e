import { createHash } from 'node:crypto';
import type { Random } from '../src/core/ports.ts';
import type { Clock } from '../src/core/time.ts';

/** A clock that only tests move. */
export interface SteppingClock extends Clock {
  set(instant: number): void;
  advance(milliseconds: number): void;
}

export function steppingClock(start = Date.UTC(2026, 2, 1, 9, 30)): SteppingClock {
  let instant = start;
  return {
    now: () => instant,
    cutoff: () => instant,
    settled: () => instant,
    set: (to) => {
      instant = to;
    },
    advance: (milliseconds) => {
      instant += milliseconds;
    },
  };
}

/** Returns a random source that repeats its bytes for the same seed: SHA-256 in counter mode. */
export function seededRandom(seed: string): Random {
  let counter = 0;
  const bytes = (length: number): Uint8Array => {
    const blocks: Buffer[] = [];
    for (let size = 0; size < length; size += 32) {
      blocks.push(createHash('sha256').update(`${seed}/${counter++}`).digest());
    }
    return new Uint8Array(Buffer.concat(blocks).subarray(0, length));
  };
  const uuid = (version: string, hex: string) =>
    `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return {
    bytes,
    id: () => uuid('4', Buffer.from(bytes(16)).toString('hex')),
    timeOrderedId: () => {
      const time = (++counter).toString(16).padStart(16, '0');
      return uuid('7', time + Buffer.from(bytes(8)).toString('hex'));
    },
  };
}
