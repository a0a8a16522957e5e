import { lstat, rm } from 'node:fs/promises';
import { Fault } from '../../core/fault.ts';
import { cannotMake, putInPlace, writeNewSecretFile } from '../secret-file.ts';

/**
 * The text of `work`, in a new file of mode 0600 that appears whole. That it can be made is made sure of before the work is
 * done: the keys in it are shown once. Throws the faults `file_exists` and `usage`.
 */
export async function withOutFile<T>(
  path: string,
  work: () => Promise<{ readonly text: string; readonly result: T }>,
): Promise<T> {
  const there = await lstat(path).catch(() => undefined);
  if (there !== undefined) throw new Fault('file_exists', `--out-file: ${path} exists`);
  const temporary = `${path}.${process.pid}.tmp`;
  const refuse = (error: unknown): never => {
    throw cannotMake('--out-file', path, error);
  };
  await writeNewSecretFile(temporary, '').catch(refuse);
  try {
    const { text, result } = await work();
    await rm(temporary);
    await writeNewSecretFile(temporary, text);
    await putInPlace(temporary, path).catch(refuse);
    return result;
  } finally {
    await rm(temporary, { force: true });
  }
}
