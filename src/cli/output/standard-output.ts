import { fstatSync, writeSync } from 'node:fs';

const STDOUT = 1;

/** What the smallest pipe holds, in bytes (macOS): that much is written without waiting for its reader. */
const PIPE_BYTES = 16 * 1024;

/** How many bytes may still go past `process.stdout`; once one has gone through it, all do: the order stays. */
let room = 0;

/**
 * Says that this process was started for one command line, and that nobody else writes to its standard output. To make
 * `process.stdout` takes Node a fifth of its own start: the first texts, mostly the only ones, can then do without.
 */
export function ownStandardOutput(): void {
  room = PIPE_BYTES;
}

/** What `process.stdout.isTTY` says, without making `process.stdout` for a file or a pipe. */
export function isTerminal(): boolean {
  return !isFileOrPipe() && process.stdout.isTTY === true;
}

/** Writes at once what can be written so. Answers how many bytes that were; what is left is for `process.stdout`. */
export function writeAtOnce(bytes: Uint8Array): number {
  const before = room;
  room = 0;
  if (bytes.length > before || !isFileOrPipe()) return 0;
  try {
    const written = writeSync(STDOUT, bytes);
    if (written === bytes.length) room = before - written;
    return written;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return 0;
    throw error;
  }
}

function isFileOrPipe(): boolean {
  const found = fstatSync(STDOUT);
  return found.isFile() || found.isFIFO() || found.isSocket();
}
