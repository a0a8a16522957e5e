import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/** A temporary folder. It is removed with this process at the latest. */
interface Folder extends Disposable {
  readonly path: string;
}

/** Creates a temporary folder below `parent`. Default: on the disk. */
export function makeFolder(parent = tmpdir()): Folder {
  const path = mkdtempSync(join(parent, 'vault-check-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    [Symbol.dispose]() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}

/** Creates a temporary folder, in memory where the system supports it. */
export const makeMemoryFolder = (): Folder => makeFolder(hasMemory() ? MEMORY : undefined);

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
