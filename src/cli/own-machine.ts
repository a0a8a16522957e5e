import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from './error-code.ts';

/**
 * Returns the scope in which process numbers are unique: this machine and, on Linux, the PID namespace on a second
 * line. Containers may share a folder, a vault and a host name, but see only their own processes.
 */
export function ownMachine(): string {
  try {
    return `${hostname()}\n${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // The system has no such namespaces, or /proc is not mounted.
    return hostname();
  }
}

/** Returns whether a process with this number runs on this machine. It may be another user's, or a later process. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
