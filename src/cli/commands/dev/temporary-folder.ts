import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { errorCode, Fault } from '../../../core/fault.ts';
import { runningTime } from '../../../core/timers.ts';
import { atExit } from '../../../paths/at-exit.ts';
import { isFullDisk, reasonOf } from '../../exit/error-reason.ts';

/** Matches a folder name such as `token-vault-dev-4242-x1Y2z3`: the purpose, the process number, and a random part. */
const NAME = /^token-vault-(?:dev|backup|doctor|edit)-(\d{1,10})-[A-Za-z0-9]{6}$/;

/** The name of a file in the folder that identifies the machine and the PID namespace of its process. */
const MARK = 'machine';

type Kind = 'dev' | 'backup' | 'edit';

/**
 * Creates a temporary folder (0700) and returns its path. First removes the folders that killed processes left. It
 * removes a folder only if its name and mark match, this user owns it, nobody else can write to it, and its process has
 * ended. Throws the fault `usage` when it cannot create a folder.
 */
export function makeTemporaryFolder(kind: Kind): string {
  removeLeftovers();
  const folder = newFolder(`token-vault-${kind}-${process.pid}-`);
  try {
    writeFileSync(path.join(folder, MARK), ownMachine(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // Without its mark no later process would remove the folder.
    removeFolder(folder);
    throw error;
  }
  return folder;
}

/** Runs `work` with a temporary folder, and removes the folder at the end or when a signal ends the process. */
export async function inTemporaryFolder<T>(kind: Kind, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = makeTemporaryFolder(kind);
  const remove = () => removeFolder(folder);
  const keep = atExit(remove);
  try {
    return await work(folder);
  } finally {
    keep();
    remove();
  }
}

function newFolder(prefix: string): string {
  try {
    return mkdtempSync(path.join(tmpdir(), prefix));
  } catch (error) {
    if (isFullDisk(error)) throw error;
    throw new Fault('usage', `the temporary folder ${tmpdir()} cannot be written (${reasonOf(error)})`, {
      hint: process.platform === 'win32' ? 'set TEMP to another folder' : 'set TMPDIR to another folder',
      cause: error,
    });
  }
}

/** How long files may still appear in a folder during its removal, in milliseconds. */
const MAX_WAITED_MS = 500;

/** Removes a folder with its contents. An ending thread or process may still create a file in it, so try again. */
export function removeFolder(folder: string): void {
  const until = runningTime() + MAX_WAITED_MS;
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 5 });
      return;
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' || runningTime() > until) throw error;
    }
  }
}

function removeLeftovers(): void {
  for (const name of namesIn(tmpdir())) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined) continue;
    try {
      const folder = path.join(tmpdir(), name);
      if (isOurs(folder) && !isRunning(Number(pid))) removeFolder(folder);
    } catch {
      // Another process is removing the folder or has a file in it open. A leftover does no harm.
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isOurs(folder: string): boolean {
  const found = lstatSync(folder);
  // Windows has no Unix owners and modes; its temporary folder belongs to the user.
  const user = process.getuid?.();
  const isClosed = user === undefined || (found.uid === user && (found.mode & 0o022) === 0);
  return found.isDirectory() && isClosed && readFileSync(path.join(folder, MARK), 'utf8') === ownMachine();
}

/**
 * Returns the scope in which process numbers are unique: this machine and, on Linux, the PID namespace on a second
 * line. Containers may share a folder, a vault and a host name, but see only their own processes.
 */
function ownMachine(): string {
  try {
    return `${hostname()}\n${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    // The system has no such namespaces, or /proc is not mounted.
    return hostname();
  }
}

/** Returns whether a process with this number runs on this machine. It may be another user's, or a later process. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}
