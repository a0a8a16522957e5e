import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from './error-code.ts';

/**
 * Where the number of a process counts: this machine and, on Linux, the PID namespace in a second line. Containers may share a
 * folder, a vault and a host name, and know only their own processes.
 */
export function ownMachine(): string {
  try {
    return `${hostname()}\n${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // Other systems have no such namespaces, or /proc is not mounted.
    return hostname();
  }
}

/** Whether this machine has a process of that number: one of another user, and one that was given the number since, too. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
