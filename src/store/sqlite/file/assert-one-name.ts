import { existsSync } from 'node:fs';
import { Fault } from '../../../core/fault.ts';
import { retryBusy } from '../commit/busy-retry.ts';
import { connect } from './connect.ts';
import { type Connection, type Driver, loadDriver } from './driver.ts';
import { withoutLocks } from './lock-probe.ts';
import { isBusy } from './sqlite-error.ts';

/**
 * Rejects with `locked_by_other` if another connection has the file open by a path that `assertOnePath` does not see:
 * the file was renamed meanwhile, or the other path is in another container. Each open connection holds a shared lock
 * and keeps `FILE-shm` beside its own path. Without that file, an exclusive lock must therefore be free; waits for it
 * until the deadline, since a process that opens or closes the file takes it for moments.
 */
export async function assertOneName(file: string, deadlineMs: number): Promise<void> {
  const driver = await loadDriver();
  try {
    await retryBusy(() => existsSync(`${file}-shm`) || lockWhole(driver, file).close(), deadlineMs);
  } catch (error) {
    // The opening that follows reports every other error.
    if (!isBusy(error)) return;
    const fault = await withoutLocks(file, error);
    if (fault !== error) throw fault;
    throw new Fault('locked_by_other', `${file} is locked by another process`, {
      hint: 'try again; if the file was renamed or mounted elsewhere, stop the process that has it open',
      cause: error,
    });
  }
}

/** Locks a whole file until the connection closes. Such a connection makes no `FILE-shm`. */
export function lockWhole(driver: Driver, file: string): Connection {
  const connection = connect(driver, file);
  try {
    connection.pragma('locking_mode = EXCLUSIVE');
    connection.pragma('application_id');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}
