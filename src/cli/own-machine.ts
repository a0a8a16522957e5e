import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from './error-code.ts';

/**
 * Identifies the scope of a process number: this machine and, on Linux, the PID namespace on a second line. Containers
 * may share a folder, a vault and a host name, but see only their own processes.
 */
export function ownMachine(): string {
  try {
    return `${hostname()}\n${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // The system has no such namespaces, or /proc is not mounted.
    return hostname();
  }
}

/** Returns whether this machine has a process with that number. It may belong to another user or be a later process. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
