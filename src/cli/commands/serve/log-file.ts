import {
  appendFileSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { Fault } from '../../../core/fault.ts';
import { assertOwnName } from '../../../paths/own-name.ts';
import { reasonOf } from '../../exit/error-reason.ts';
import { pathHint } from '../../files/typed-paths.ts';

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
/** Makes a named pipe without a reader, or with a slow one, fail instead of stopping the daemon. Windows lacks it. */
const NO_WAIT = (constants.O_NONBLOCK as number | undefined) ?? 0;

/** Opens the file of `--log-file`; creates it (0600) if it is missing. Throws the fault `usage`. */
export function openLogFile(path: string, report: (fact: string) => void) {
  let file = open(path);
  let isFailing = false;
  return {
    /** Appends lines. Reports the first of several failed writes; the lines are then lost, and the daemon continues. */
    write(text: string): void {
      try {
        appendFileSync(file, text);
        isFailing = false;
      } catch (error) {
        if (!isFailing) report(`--log-file: ${path} cannot be written (${reasonOf(error)}); lines are lost`);
        isFailing = true;
      }
    },
    /** Opens the file again after it was renamed. On an error, reports it and keeps the old file. */
    reopen(): void {
      try {
        const next = open(path);
        closeSync(file);
        file = next;
        report('the log file was reopened');
      } catch (error) {
        const reason = error instanceof Fault ? error.message : '';
        report(`the log file was not reopened; the old one stays in use: ${reason}`);
      }
    },
  };
}

function open(path: string): number {
  try {
    assertOwnName(path, '--log-file');
    const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
    // An existing link is followed, as of /dev/stderr, but creates no file elsewhere.
    if (!isNew && statSync(path).isFile()) requireText(path);
    const file = openSync(path, O_APPEND | O_WRONLY | NO_WAIT | (isNew ? O_CREAT | O_EXCL : 0), 0o600);
    if (isNew && (fstatSync(file).mode & 0o600) !== 0o600) fchmodSync(file, 0o600);
    return file;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('usage', `--log-file: ${path} cannot be opened (${reasonOf(cause)})`, {
      hint: isSocket(path)
        ? LEAVE_OUT
        : (pathHint(cause) ?? 'name a file that the daemon can write, in an existing folder'),
      cause,
    });
  }
}

/** systemd and some containers make standard error a socket, which has no path that can be opened. */
const LEAVE_OUT = 'leave out --log-file: without it, the log goes to standard error';

function isSocket(path: string): boolean {
  try {
    return statSync(path).isSocket();
  } catch {
    return false;
  }
}

/** Throws `usage` for a file that does not begin with text: log lines would damage a vault or a key. */
function requireText(path: string): void {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const head = Buffer.alloc(16);
    const text = head.toString('latin1', 0, readSync(file, head));
    if (/^[\t\n\r\x20-\x7e]*$/.test(text)) return;
  } finally {
    closeSync(file);
  }
  throw new Fault('usage', `--log-file: ${path} is not a log`, { hint: 'name a new file or an existing log' });
}
