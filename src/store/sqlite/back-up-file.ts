import { retryBusy } from './busy-retry.ts';
import { connect, setPragmas } from './connect.ts';
import { type Connection, loadDriver } from './driver.ts';
import { placeFile } from './place-file.ts';

/**
 * Writes one consistent state of an open database to a new file of mode 0600, while others read and write it. `verify` is
 * given the copy before it gets its name; when it throws there is no copy. An existing file is never touched.
 */
export async function backUpFile(
  connection: Connection,
  target: string,
  verify?: (copy: string) => Promise<void>,
): Promise<void> {
  await placeFile(target, async (building) => {
    await retryBusy(() => connection.prepare<[string]>('VACUUM INTO ?').run(building));
    await verify?.(building);
  });
}

/** The same for a file that this process, or another one, may have open. */
export async function backUpVaultFile(
  file: string,
  target: string,
  verify: (copy: string) => Promise<void>,
): Promise<void> {
  const connection = connect(await loadDriver(), file);
  try {
    await retryBusy(() => setPragmas(connection));
    await backUpFile(connection, target, verify);
  } finally {
    connection.close();
  }
}
