import { statSync } from 'node:fs';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { Problem } from '../core/problem.ts';
import type { Credential } from '../keyring/credential.ts';
import { FILE_FORMAT } from '../store/sqlite/file/schema.ts';

/**
 * The commands that run in a thread: `vault audit verify`, `vault doctor`, `vault keys list` and `vault keys list --tenants`.
 */
export type ThreadCommand = 'verify' | 'doctor' | 'keys';

/** The data that the thread is started with. */
export interface FileOrder {
  /** The version of the running product, whose files may be replaced while a daemon runs. */
  readonly version: string;
  readonly command: ThreadCommand;
  readonly file: string;
  readonly credential: Credential;
}

/** The only message that the thread sends. `failure` is a sentence for the user of this machine. */
export type FileAnswer = { readonly result: object } | { readonly failure: string };

const THREAD = import.meta.filename.endsWith('.ts') ? './file-commands-thread.ts' : '../vault/file-commands-thread.js';

/** The thread's objects live for one page of rows, so a small young generation keeps the process small. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

const running = new Map<string, Promise<object>>();

/**
 * Runs a command on a file that this process has open. Uses a thread, since a large vault takes minutes and calls must
 * continue meanwhile. A second call for the same command gets the result of the first. Rejects with `internal_error`,
 * whose detail says what is wrong with the file or its key.
 */
export function runOnFile(command: ThreadCommand, file: string, credential: () => Promise<Credential>) {
  const name = `${command} ${file}`;
  const first = running.get(name);
  if (first !== undefined) return first;
  const run = startThread(command, file, credential).finally(() => running.delete(name));
  running.set(name, run);
  return run;
}

async function startThread(command: ThreadCommand, file: string, credential: () => Promise<Credential>) {
  const { Worker } = await import('node:worker_threads');
  const order: FileOrder = { version: manifest.version, command, file, credential: await credential() };
  // Do not pass environment variables, which may hold a passphrase.
  const options = { workerData: order, env: {}, argv: [], execArgv: [], resourceLimits: LIMITS };
  const thread = new Worker(path.join(import.meta.dirname, THREAD), options);
  // A daemon that stops does not wait for the thread.
  thread.unref();
  const answer = await new Promise<FileAnswer>((resolve, reject) => {
    thread.once('message', resolve).once('error', reject);
    thread.once('exit', () => reject(new Error('the thread ended without an answer')));
  });
  if ('result' in answer) return answer.result;
  throw new Problem('internal_error', { detail: answer.failure });
}

/** Returns facts about a vault file that need no key. Sizes are in bytes. */
export function fileFacts(file: string): object {
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return { file: path.resolve(file), bytes: sizeOf(file), log_bytes: sizeOf(`${file}-wal`), format: FILE_FORMAT };
}
