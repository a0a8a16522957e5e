import { statSync } from 'node:fs';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { Problem } from '../core/problem.ts';
import type { Credential } from '../keyring/credential.ts';
import { FORMAT } from '../store/sqlite/file/schema.ts';

/** The commands of a thread: `vault audit verify`, `vault doctor`, `vault keys list` and `vault keys status`. */
export type ThreadCommand = 'verify' | 'doctor' | 'keys';

/** The start data of the thread. */
export interface FileOrder {
  /** The version of the product: its files may be replaced while a daemon runs. */
  readonly version: string;
  readonly command: ThreadCommand;
  readonly file: string;
  readonly credential: Credential;
}

/** The one message of the thread. A failure is a sentence for the person at this machine. */
export type FileAnswer = { readonly result: object } | { readonly failure: string };

const THREAD = import.meta.filename.endsWith('.ts') ? './file-commands-thread.ts' : '../vault/file-commands-thread.js';

const running = new Map<string, Promise<object>>();

/**
 * Runs a command on a file that this process has open, in a thread: a large vault takes minutes, and calls go on meanwhile.
 * A second run of the same command gets the result of the first. Throws `internal_error` with what is
 * wrong with the file or its key.
 */
export function runOnFile(
  command: ThreadCommand,
  file: string,
  credential: () => Promise<Credential>,
): Promise<object> {
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
  // Passes everything the thread needs: no variable of this process, which may hold a passphrase.
  const options = { workerData: order, env: {}, argv: [], execArgv: [] };
  const thread = new Worker(path.join(import.meta.dirname, THREAD), options);
  // A daemon that stops does not wait for it.
  thread.unref();
  const answer = await new Promise<FileAnswer>((resolve, reject) => {
    thread.once('message', resolve).once('error', reject);
    thread.once('exit', () => reject(new Error('the thread ended without an answer')));
  });
  if ('result' in answer) return answer.result;
  throw new Problem('internal_error', { detail: answer.failure });
}

/** Facts about a file that need no key. Sizes are in bytes. */
export function fileFacts(file: string): object {
  const sizeOf = (name: string) => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  return { file: path.resolve(file), bytes: sizeOf(file), log_bytes: sizeOf(`${file}-wal`), format: FORMAT };
}
