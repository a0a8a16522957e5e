import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { Fault } from '../core/fault.ts';
import type { AnchorNote } from '../core/maintenance-ports.ts';

/** The anchor as a file of this path. */
export function anchorFile(path: string): AnchorNote {
  return {
    async read() {
      try {
        return await readFile(path, 'utf8');
      } catch (cause) {
        if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
        throw new Fault('file_unwritable', `the anchor ${path} cannot be read`, { cause, hint: HINT });
      }
    },

    async write(text) {
      const temporary = `${path}.${randomBytes(6).toString('hex')}.new`;
      try {
        const handle = await open(temporary, 'wx', 0o600);
        try {
          await handle.writeFile(text);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(temporary, path);
      } catch (cause) {
        await rm(temporary, { force: true });
        if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOSPC' || cause.code === 'EDQUOT')) {
          throw new Fault('no_space', `there is no space left for the anchor ${path}`, { cause });
        }
        throw new Fault('file_unwritable', `the anchor ${path} cannot be written`, { cause, hint: HINT });
      }
    },
  };
}

const HINT = '--anchor (VAULT_ANCHOR) names a file in a folder of your own, away from the vault';
