import { randomBytes, randomUUID } from 'node:crypto';
import { uuidv7 } from 'uuidv7';
import type { Random } from './core/ports.ts';

/** The system's cryptographic random source. */
export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
  timeOrderedId: () => uuidv7(),
  id: () => randomUUID(),
};
