import { fstatSync, writeSync } from 'node:fs';
import { Fault } from '../../core/fault.ts';
import { errorCode, isFullDisk } from '../error-code.ts';

const STDOUT = 1;

/** The capacity of the smallest pipe, in bytes (macOS): a write of this size never waits for its reader. */
const PIPE_BYTES = 16 * 1024;

/** How many bytes may still go past `process.stdout`; once one has gone through it, all do: the order stays. */
let room = 0;

/** Whether one of Node's streams was asked for; texts may be on their way through it. */
let hasStreams = true;

/**
 * Says that this process was started for one command line, and that nobody else writes to its standard output. To make
 * `process.stdout` takes Node a fifth of its own start: the first texts, mostly the only ones, can then do without.
 */
export function ownStandardOutput(): void {
  room = PIPE_BYTES;
  hasStreams = !['stdout', 'stderr'].every(watch);
}

/** Notes when a stream of this process is asked for. Answers whether that can be noted. */
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
 * Ends a process of one command line that has done all it was asked, unless a text may still be on its way: then it ends by
 * itself, as soon as that has arrived. To clear away all that Node has in memory takes it a tenth of its own start.
 */
export function endAtOnce(exitCode: number): void {
  if (!hasStreams) process.exit(exitCode);
}

/** Returns `process.stdout.isTTY` without creating `process.stdout` for a file or a pipe. */
export function isTerminal(): boolean {
  return !isFileOrPipe() && process.stdout.isTTY === true;
}

/** Writes at once as many bytes as fit. Returns their number; `process.stdout` writes the rest. */
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
    // Windows has no word on a console or on NUL with every Node: EISDIR. `process.stdout` knows what they are.
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

/** Windows reports EOF for a pipe whose other end is closed. */
function reasonOf(error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'EPIPE' || code === 'EOF') return new OutputClosed();
  return isFullDisk(error) ? new Fault('no_space', 'no space left for the output', { cause: error }) : error;
}
