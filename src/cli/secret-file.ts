import { readFileSync } from 'node:fs';
import { Fault } from '../core/fault.ts';
import { errorCode } from './text-reader.ts';

/** The bytes of a file that a flag names. */
export async function readSecretFile(flag: string, path: string): Promise<Buffer> {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Fault('usage', `${flag}: ${path} cannot be read (${errorCode(error)})`, { cause: error });
  }
}

/** Makes a file of mode 0600 that was not there before, whole and on the disk when it resolves. */
export async function writeNewSecretFile(path: string, content: Uint8Array | string): Promise<void> {
  const { open } = await import('node:fs/promises');
  const handle = await open(path, 'wx', 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Turns what `open(…, 'wx')` throws into what the person at the machine can act on. */
export function cannotMake(flag: string, path: string, error: unknown): Fault {
  const code = errorCode(error);
  if (code === 'EEXIST') return new Fault('file_exists', `${flag}: ${path} exists`, { cause: error });
  return new Fault('usage', `${flag}: ${path} cannot be made (${code})`, {
    hint: 'its folder must be there, and writable',
    cause: error,
  });
}
