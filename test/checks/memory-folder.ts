import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/** A new folder for files whose survival nobody needs: in memory where the system has such a place, thousands a minute. */
export function makeMemoryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(hasMemory() ? MEMORY : tmpdir(), 'vault-check-'));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    path,
    remove: () => {
      process.removeListener('exit', remove);
      remove();
    },
  };
}

function hasMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
