import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../../core/fault.ts';
import { errorCode, isFullDisk } from '../../error-code.ts';
import { isRunning, ownMachine } from '../../own-machine.ts';

/** `token-vault-dev-4242-x1Y2z3`: the purpose, the process, and a random part. */
const NAME = /^token-vault-(?:dev|test)-(\d{1,10})-[A-Za-z0-9]{6}$/;

/** In the folder: where the number of the process counts. */
const MARK = 'machine';

/**
 * A new folder (0700) for what is gone when this process ends. Those of processes that were killed are removed first, and
 * nothing else: folders of this user that nobody else can write to, under a name of ours, with the mark of this machine and
 * PID namespace, whose process is gone. Throws the fault `usage` where nothing can be made.
 */
export function makeTemporaryFolder(kind: 'dev' | 'test'): string {
  removeLeftovers();
  const folder = newFolder(`token-vault-${kind}-${process.pid}-`);
  try {
    writeFileSync(path.join(folder, MARK), ownMachine(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // Without its mark no later process would remove it.
    removeFolder(folder);
    throw error;
  }
  return folder;
}

function newFolder(prefix: string): string {
  try {
    return mkdtempSync(path.join(tmpdir(), prefix));
  } catch (error) {
    if (isFullDisk(error)) throw error;
    throw new Fault('usage', `nothing can be made in the temporary folder ${tmpdir()} (${errorCode(error)})`, {
      hint: process.platform === 'win32' ? 'TEMP names another' : 'TMPDIR names another',
      cause: error,
    });
  }
}

/** How long another file may come into a folder that is being removed, in milliseconds. */
const MAX_WAITED_MS = 500;

/**
 * With all that is in it. A thread of this process, which is about to end, or another process that ends with it, may still
 * make a file there: then it is emptied again.
 */
export function removeFolder(folder: string): void {
  const until = performance.now() + MAX_WAITED_MS;
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3, retryDelay: 5 });
      return;
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' || performance.now() > until) throw error;
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
      // Another process removes it, or has it open: it does no harm.
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
  // Windows keeps owners and rights elsewhere; its temporary folder is the user's own.
  const user = process.getuid?.();
  const isClosed = user === undefined || (found.uid === user && (found.mode & 0o022) === 0);
  return found.isDirectory() && isClosed && readFileSync(path.join(folder, MARK), 'utf8') === ownMachine();
}
