import path from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { AuditChainKey } from './core/ports.ts';
import { type CommitCells, OwnCommits } from './store/sqlite/own-commits.ts';
import type { WriteReply } from './store/sqlite/serve-writes.ts';
import type { Session } from './store/sqlite/session.ts';
import { type TurnCells, WriteTurns } from './store/sqlite/write-turns.ts';
import { WriterThread } from './store/sqlite/writer-thread.ts';

/** Set by the build: the name of the file with the thread's code. Sources that are not bundled have none. */
declare const WRITER_THREAD_FILE: string | undefined;

/** What the thread is started with. */
export interface WriterOrder {
  readonly file: string;
  /** Of the file that is open here under that name. */
  readonly identity: string;
  readonly cells: CommitCells;
  readonly turns: TurnCells;
  readonly chain: AuditChainKey;
}

/** What it makes lives for one commit, so little room for what is new keeps the process small. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

/** What the thread says. */
export type WriterSaying = 'ready' | { readonly replies: readonly WriteReply[] };

/** Where the built product has the thread. Throws where there is none. */
function builtThread(): string {
  if (typeof WRITER_THREAD_FILE === 'undefined') throw new Error('sources that are not bundled have no writer thread');
  return path.join(import.meta.dirname, WRITER_THREAD_FILE);
}

/**
 * Starts the thread that writes to the file of `session`; `chain` is wiped here. Throws when it cannot start. If it fails
 * later, that is an error that nobody caught in this process.
 */
export async function startWriter(session: Session, chain: AuditChainKey, code?: string): Promise<WriterThread> {
  const commits = new OwnCommits();
  const turns = new WriteTurns(0);
  const order = { file: session.file, identity: session.identity, cells: commits.cells, turns: turns.cells, chain };
  const thread = await whenReady(await startWorker(order, code));
  session.followCommits(commits);
  session.takeTurns(turns);
  return thread;
}

async function startWorker(order: WriterOrder, code: string | undefined): Promise<Worker> {
  try {
    const { Worker } = await import('node:worker_threads');
    // It is told all that it needs: no variable of this process, which may hold a passphrase, goes along.
    return new Worker(code ?? builtThread(), {
      workerData: order,
      env: {},
      argv: [],
      execArgv: [],
      resourceLimits: LIMITS,
    });
  } finally {
    order.chain.key.fill(0);
  }
}

function whenReady(worker: Worker): Promise<WriterThread> {
  return new Promise((resolve, reject) => {
    let state: 'starts' | 'serves' | 'closes' = 'starts';
    const gone = new Promise<void>((done) => worker.once('exit', () => done()));
    const thread = new WriterThread({
      post: (message) => worker.postMessage(message, [message.bytes]),
      close: () => {
        state = 'closes';
        worker.postMessage('close');
        return gone;
      },
    });
    worker.on('message', (saying: WriterSaying) => {
      if (saying === 'ready') {
        state = 'serves';
        resolve(thread);
      } else thread.receive(saying.replies);
    });
    const lose = (error: Error) => {
      const served = state === 'serves';
      state = 'closes';
      reject(error);
      thread.lose(error);
      if (served) throw error;
    };
    worker.on('error', lose);
    worker.on('exit', () => {
      if (state !== 'closes') lose(new Error('the thread that writes has ended'));
      // Whatever it has not answered when it closed, it never will.
      else thread.lose(new Error('the thread that writes has ended'));
    });
  });
}
