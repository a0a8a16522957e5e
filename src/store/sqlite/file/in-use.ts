import { errorCode, Fault } from '../../../core/fault.ts';
import { isBusy } from './sqlite-error.ts';

/** How long to wait for other commands to close a file, in milliseconds. */
export const IN_USE_MS = 2000;

/** The codes that Windows reports for a file that another process has open. */
const OPEN_ELSEWHERE: ReadonlySet<unknown> = new Set(['EPERM', 'EACCES', 'EBUSY']);

/** Returns a function that throws `locked_by_other` for an error of a file in use, and any other error unchanged. */
export function inUse(path: string): (error: unknown) => never {
  return (error) => {
    const cause = error instanceof Fault ? error.cause : error;
    const code = errorCode(cause);
    const isOpen = process.platform === 'win32' && OPEN_ELSEWHERE.has(code);
    if (!isBusy(error) && !isOpen) throw error;
    throw new Fault('locked_by_other', `${path} is in use by another process`, {
      hint: 'stop the daemon and other commands on this file, then try again',
      cause: error,
    });
  };
}
