import { fstatSync, writeSync } from 'node:fs';
import { errorCode, Fault } from '../../core/fault.ts';
import { isFullDisk } from '../exit/error-reason.ts';

const STDOUT = 1;

/** The capacity of the smallest pipe (macOS), in bytes. Writing this much to an empty pipe never blocks. */
const PIPE_BYTES = 16 * 1024;

/**
 * The number of bytes that may still bypass `process.stdout`. It is 0 after the first write through `process.stdout`,
 * to keep the order of the output.
 */
let bytesAtOnce = 0;

/** Whether the program has used one of Node's streams, so that text may still be in a buffer. */
let hasStreams = true;

/**
 * Declares that this process runs one command line and that nobody else writes to its standard output. The first texts,
 * usually the only ones, then bypass `process.stdout`, whose creation takes a fifth of Node's start-up time.
 */
export function ownStandardOutput(): void {
  bytesAtOnce = PIPE_BYTES;
  hasStreams = !['stdout', 'stderr'].every(watch);
}

/** Makes the first use of a stream of this process set `hasStreams`. Returns whether that is possible. */
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
 * Exits at once, which saves a tenth of Node's start-up time. Does nothing if text may still be in a stream: the
 * process then ends by itself when the text is written.
 */
export function endAtOnce(exitCode: number): void {
  if (!hasStreams) process.exit(exitCode);
}

/** Returns `process.stdout.isTTY` without creating `process.stdout` for a file or a pipe. */
export function isTerminal(): boolean {
  return !isFileOrPipe() && process.stdout.isTTY === true;
}

/** Writes as many bytes as fit at once, without `process.stdout`. Returns their number; the caller writes the rest. */
export function writeAtOnce(bytes: Uint8Array): number {
  const before = bytesAtOnce;
  bytesAtOnce = 0;
  if (bytes.length > before || !isFileOrPipe()) return 0;
  try {
    const written = writeSync(STDOUT, bytes);
    if (written === bytes.length) bytesAtOnce = before - written;
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

/** Thrown when the reader of standard output has gone. The command then stops silently. */
class OutputClosed extends Error {
  override readonly name = 'OutputClosed';
}

/** Writes text to stdout. Resolves when it is written. Rejects with `OutputClosed` and with the fault `no_space`. */
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

/** Returns `OutputClosed` for a closed reader (EOF on Windows), `no_space` for a full disk, or the error itself. */
function reasonOf(error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EPIPE' || code === 'EOF') return new OutputClosed();
  return isFullDisk(error) ? new Fault('no_space', 'no space left for the output', { cause: error }) : error;
}
