import { fstatSync, writeSync } from 'node:fs';
import { Fault } from '../../core/fault.ts';
import { errorCode, isFullDisk } from '../error-code.ts';

const STDOUT = 1;

/** The capacity of the smallest pipe, in bytes (macOS): a write of this size never blocks. */
const PIPE_BYTES = 16 * 1024;

/**
 * How many bytes may still bypass `process.stdout`. After the first write through it, all use it, which keeps the
 * order.
 */
let room = 0;

/** Whether the program used one of Node's streams; text may still be in it. */
let hasStreams = true;

/**
 * Declares that this process runs one command line and that nobody else writes to its standard output. Creating
 * `process.stdout` takes a fifth of Node's start-up time; the first texts, usually the only ones, can bypass it.
 */
export function ownStandardOutput(): void {
  room = PIPE_BYTES;
  hasStreams = !['stdout', 'stderr'].every(watch);
}

/** Records the first use of a stream of this process. Returns whether that is possible. */
function watch(name: string): boolean {
  const found = Object.getOwnPropertyDescriptor(process, name);
  const make = found?.get;
  if (make === undefined || found?.configurable !== true) return false;
  function get(): unknown {
    hasStreams = true;
    return make?.call(process);
  }
  Object.defineProperty(process, name, { ...found, get });
  return true;
}

/**
 * Exits at once after a single command line, which saves a tenth of Node's start-up time. If text may still be in a
 * stream, the process ends by itself once it is written.
 */
export function endAtOnce(exitCode: number): void {
  if (!hasStreams) process.exit(exitCode);
}

/** Returns `process.stdout.isTTY` without creating `process.stdout` for a file or a pipe. */
export function isTerminal(): boolean {
  return !isFileOrPipe() && process.stdout.isTTY === true;
}

/** Writes as many bytes as fit at once and returns their number; `process.stdout` writes the rest. */
export function writeAtOnce(bytes: Uint8Array): number {
  const before = room;
  room = 0;
  if (bytes.length > before || !isFileOrPipe()) return 0;
  try {
    const written = writeSync(STDOUT, bytes);
    if (written === bytes.length) room = before - written;
    return written;
  } catch (error) {
    if (errorCode(error) === 'EAGAIN') return 0;
    throw error;
  }
}

function isFileOrPipe(): boolean {
  try {
    const found = fstatSync(STDOUT);
    return found.isFile() || found.isFIFO() || found.isSocket();
  } catch {
    // On Windows some versions of Node cannot write to a console or NUL directly: EISDIR. `process.stdout` can.
    return false;
  }
}

/** The reader of standard output has gone: stop without an error. */
class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Resolves when the text is written to stdout. Throws `OutputClosed`, and the fault `no_space`. */
export async function writeOut(text: string | Uint8Array): Promise<void> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  let written = 0;
  try {
    written = writeAtOnce(bytes);
  } catch (error) {
    throw reasonOf(error);
  }
  if (written < bytes.length) await writeThrough(written === 0 ? text : bytes.subarray(written));
}

function writeThrough(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => reject(reasonOf(error));
    process.stdout.on('error', fail);
    process.stdout.write(text, (error) => {
      if (error != null) {
        fail(error);
        return;
      }
      process.stdout.off('error', fail);
      resolve();
    });
  });
}

/** Windows reports EOF for a pipe with a closed reader. */
function reasonOf(error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EPIPE' || code === 'EOF') return new OutputClosed();
  return isFullDisk(error) ? new Fault('no_space', 'no space left for the output', { cause: error }) : error;
}
