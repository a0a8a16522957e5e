import { basename, join } from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { runningTime } from '../../../core/timers.ts';
import type { Vault } from '../../../vault/vault.ts';
import { archiveFile } from '../../files/archive-file.ts';

/** The pause after a prune, and after a failure, in milliseconds. */
const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = 60 * 60 * 1000;

/** The settings of `--audit-keep` and `--audit-archive`. */
export interface Retention {
  readonly keepMs: number;
  /** The folder of the archives. */
  readonly folder: string;
}

/**
 * Returns a function that moves old audit entries to an archive in the folder, at most once a day. It never rejects. A
 * sweeper calls it every minute.
 */
export function createRetention(
  { keepMs, folder }: Retention,
  vault: Pick<Vault, 'file' | 'pruneAudit'>,
  report: (fact: string) => void,
  now: () => number = runningTime,
): () => Promise<void> {
  const name = basename(vault.file).replace(/\.[^.]*$/, '');
  let next = Number.NEGATIVE_INFINITY;
  return async () => {
    if (now() < next) return;
    next = Number.POSITIVE_INFINITY;
    try {
      const pruned = await vault.pruneAudit(keepMs, ({ after, through }) => {
        const [first, last] = [after.sequence + 1, through.sequence].map((row) => String(row).padStart(12, '0'));
        return archiveFile('--audit-archive', join(folder, `${name}-audit-${first}-${last}`));
      });
      const { archive } = pruned ?? {};
      if (archive !== undefined) report(`moved ${archive.entries} audit entries to ${archive.path}`);
      next = pruned === undefined ? Number.NEGATIVE_INFINITY : now() + DAY_MS;
    } catch (error) {
      next = now() + HOUR_MS;
      if (error instanceof Problem && error.code === 'vault_stopping') return;
      const reason = error instanceof Fault || error instanceof Problem ? `: ${error.message}` : '';
      report(`old audit entries could not be archived${reason}; trying again in an hour`);
    }
  };
}
