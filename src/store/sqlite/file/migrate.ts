import { Fault } from '../../../core/fault.ts';
import { ownerOfVaultFile } from '../../../paths/create-file.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { backUpFile } from './back-up-file.ts';
import { setPragmas } from './connect.ts';
import type { Connection } from './driver.ts';
import type { Layout } from './schema.ts';

/**
 * Migrates the file to the layout's format. First writes a backup beside it (`FILE.v1.backup`, mode 0600), then runs
 * all steps in one transaction. Runs no step if another process has migrated the file meanwhile. Throws `file_exists`
 * if the backup already exists.
 */
export async function migrate(
  connection: Connection,
  file: string,
  from: number,
  layout: Layout,
  busyDeadlineMs: number,
): Promise<void> {
  await retryBusy(() => setPragmas(connection), busyDeadlineMs);
  await backUpFile(connection, `${file}.v${from}.backup`, undefined, { owner: ownerOfVaultFile(file) });
  await retryBusy(() => connection.transaction(() => runSteps(connection, file, layout)).immediate(), busyDeadlineMs);
}

function runSteps(connection: Connection, file: string, { format, migrations }: Layout): void {
  for (;;) {
    const version = connection.pragma('user_version', { simple: true });
    if (version === format) return;
    const step = typeof version === 'number' ? migrations[version] : undefined;
    if (typeof version !== 'number' || step === undefined) {
      throw new Fault('damaged', `${file} has no valid format number`);
    }
    step(connection);
    connection.pragma(`user_version = ${version + 1}`);
  }
}
