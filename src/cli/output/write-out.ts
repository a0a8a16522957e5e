import { Fault } from '../../core/fault.ts';
import { isFullDisk } from '../full-disk.ts';
import { writeAtOnce } from './standard-output.ts';

/** Whoever read standard output has gone: there is nothing more to do, and nothing went wrong. */
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

/** Windows says EOF of a pipe whose other end is closed. */
function reasonOf(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EPIPE' || code === 'EOF') return new OutputClosed();
  return isFullDisk(error) ? new Fault('no_space', 'there is no space for the output', { cause: error }) : error;
}
