import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';
import { V7Generator } from 'uuidv7';
import type { Random } from '../core/ports.ts';

/**
 * Random 32-bit numbers, each used once. They are read in blocks, because requests to the system take most of the time
 * for an id.
 */
const pool = new Uint32Array(256);
let used = pool.length;

function nextUint32(): number {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool[used++] as number;
}

const ids = new V7Generator({ nextUint32 });

/** The system's cryptographic random source. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  timeOrderedId: () => ids.generate().toString(),
  id: () => randomUUID(),
};
