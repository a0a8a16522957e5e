import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import manifest from '../../package.json' with { type: 'json' };
import { COMMITS } from '../store/rows/channels.ts';
import { Writer } from '../store/sqlite/commit/remote-writer.ts';
import type { Session } from '../store/sqlite/commit/session.ts';
import { type TurnCells, WriteTurns } from '../store/sqlite/commit/write-turns.ts';

/** The data that the writer thread is started with. */
export interface WriterOrder {
  /** The version of the running product, whose files may be replaced while a daemon runs. */
  readonly version: string;
  readonly file: string;
  /** The identity of the open file, which the thread compares with that of the file at this path. */
  readonly identity: string;
  readonly turns: TurnCells;
  /** Whether to report commits and retries, which this process measures. */
  readonly isMeasured: boolean;
}

/** The thread's objects live for one commit, so a small young generation keeps the process small. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

/** The path of the thread's code: beside this file in the sources, in dist/vault/ in the build. */
const THREAD = import.meta.filename.endsWith('.ts') ? './writer-thread.ts' : '../vault/writer-thread.js';

/**
 * Starts the thread that writes to the file of `session`, and resolves to its calling side. Rejects when the thread
 * cannot start.
 */
export async function startWriter(session: Session): Promise<Writer> {
  const turns = new WriteTurns(0);
  const order = {
    version: manifest.version,
    file: session.connection.name,
    identity: session.identity,
    turns: turns.cells,
    isMeasured: COMMITS.hasSubscribers,
  };
  const thread = await new Writer(await startWorker(order)).ready;
  session.takeTurns(turns, () => !thread.isWriting);
  return thread;
}

async function startWorker(order: WriterOrder): Promise<Worker> {
  const { Worker } = await import('node:worker_threads');
  // Do not pass environment variables, which may hold a passphrase.
  const options = { workerData: order, env: {}, argv: [], execArgv: [], resourceLimits: LIMITS };
  return new Worker(path.join(import.meta.dirname, THREAD), options);
}
