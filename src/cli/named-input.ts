import { createReadStream, statSync } from 'node:fs';
import { endBySignals } from './interrupt.ts';

/** Whether somebody else must write for a read to end: `mkfifo`, `<(…)`. Throws what `stat` throws. */
export function isNamedPipe(path: string): boolean {
  return statSync(path).isFIFO();
}

/** The bytes behind a name, piece by piece; signals end the command while it waits for those of a pipe. */
export async function* readNamed(path: string): AsyncGenerator<Uint8Array> {
  const asBefore = isNamedPipe(path) ? endBySignals() : undefined;
  try {
    yield* createReadStream(path);
  } finally {
    asBefore?.();
  }
}
