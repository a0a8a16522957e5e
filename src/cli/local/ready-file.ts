import { renameSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { cannotMake, writeNewSecretFile } from '../secret-file.ts';

/** Puts a file of mode 0600 in place, whole, and removes it when the process exits. */
export async function writeReadyFile(path: string, content: object): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await rm(temporary, { force: true });
    await writeNewSecretFile(temporary, `${JSON.stringify(content)}\n`);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw cannotMake('--ready-file', path, error);
  }
  process.on('exit', () => rmSync(path, { force: true }));
}
