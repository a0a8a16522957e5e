import { Fault } from '../../../core/fault.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { backUpFile } from './back-up-file.ts';
import { setPragmas } from './connect.ts';
import type { Connection } from './driver.ts';
import type { Layout } from './schema.ts';

/**
 * Brings the file to the layout's format: first makes a backup beside it (`FILE.v1.backup`, 0600), then runs all steps
 * in one transaction. A second process finds the work done. Throws `file_exists` when such a backup already exists: it
 * is never overwritten.
 */
export async function migrate(
  connection: Connection,
  file: string,
  from: number,
  layout: Layout,
  busyDeadlineMs: number,
): Promise<void> {
  await retryBusy(() => setPragmas(connection), busyDeadlineMs);
  await backUpFile(connection, `${file}.v${from}.backup`);
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
