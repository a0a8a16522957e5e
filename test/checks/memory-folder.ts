import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';

/**
 * Creates a temporary folder, in memory where the system supports it. It is removed with this process at the latest.
 */
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
