import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from './daemon-process.ts';
import type { State } from './expected-state.ts';
import { makeFolder } from './folder.ts';
import { type DiskEvent, readTrace, recorder, traceIdOf } from './power-loss-trace.ts';
import { makeVaultFile, type VaultFile } from './vault-file.ts';

/** A write that was sent: the token and its new state. Its index in the list is its number. */
export interface SentOperation {
  readonly id: string;
  readonly state: State;
}

/** The life of a daemon, from an empty vault to SIGTERM. */
export interface Recording extends Pick<VaultFile, 'credential' | 'everything'> {
  /** The database file before the daemon started. */
  readonly database: Buffer;
  readonly operations: readonly SentOperation[];
  readonly events: readonly DiskEvent[];
}

export interface RecordOptions {
  readonly random: () => number;
  /** Rounds of writes. During the pause after each round, the daemon empties the log. */
  readonly rounds: number;
  readonly operationsARound: number;
  /** The maximum length of a value in characters. Long values fill the log until SQLite restarts it. */
  readonly longest: number;
  readonly bin?: string;
}

const WRITERS = 4;
/** Milliseconds between rounds. After a delete, the daemon empties the log once 200 ms pass without a write. */
const PAUSE_MS = 400;

/** Records the system calls of a daemon under four writers. Rejects when they cannot be recorded. */
export async function record({ bin, ...options }: RecordOptions): Promise<Recording> {
  assertRecorder();
  using folder = makeFolder();
  const { file, keyFile: _, ...keys } = await makeVaultFile(folder.path);
  const database = readFileSync(file);
  const prefix = join(folder.path, 'trace');
  await using daemon = await startDaemon({
    file,
    readyFile: join(folder.path, 'ready.json'),
    wrapper: recorder(prefix),
    ...(bin !== undefined && { bin }),
  });
  const operations = await work(daemon.url, keys.everything, options);
  await daemon.stop('SIGTERM');
  const { events, writers } = readTrace(prefix, file);
  // The main thread makes the first write. A writer thread makes simultaneous writes.
  if (writers !== 2) throw new Error(`the log was written by ${writers} threads, not by both that write`);
  const answers = events.filter(({ kind }) => kind === 'answer').length;
  if (answers !== operations.length) {
    throw new Error(`${operations.length} answers arrived, ${answers} are in the recording`);
  }
  return { ...keys, database, operations, events };
}

function assertRecorder(): void {
  if (spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0) return;
  throw new Error(
    'system calls cannot be recorded: this check needs Linux, strace (apt-get install strace) and ptrace',
  );
}

async function work(
  url: string,
  key: string,
  { random, rounds, operationsARound, longest }: Omit<RecordOptions, 'bin'>,
): Promise<readonly SentOperation[]> {
  const operations: SentOperation[] = [];
  const owned: string[][] = Array.from({ length: WRITERS }, () => []);

  async function send(method: string, path: string, id: string, state: State): Promise<void> {
    const number = operations.push({ id, state }) - 1;
    const data = { left: state, right: state, filling: 'x'.repeat(Math.floor(random() * longest)) };
    const content = { data, metadata: { version: String(state) } };
    const body = method === 'POST' ? { id, type: 'token', ...content } : content;
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const reply = await fetch(`${url}${path}`, {
      method,
      headers: { 'SVC-API-KEY': key, 'SVC-TRACE-ID': traceIdOf(number), 'Content-Type': type },
      ...(state !== 'deleted' && { body: JSON.stringify(body) }),
    });
    await reply.arrayBuffer();
    if (!reply.ok) throw new Error(`${method} was answered ${reply.status}`);
  }

  async function next(own: string[]): Promise<void> {
    const kind = random();
    const version = operations.length;
    const id = own[Math.floor(random() * own.length)];
    if (id === undefined || kind < 0.35) {
      own.push(`power-${version}`);
      await send('POST', '/tokens', `power-${version}`, version);
    } else if (kind < 0.8) {
      await send('PATCH', `/tokens/${id}`, id, version);
    } else {
      own.splice(own.indexOf(id), 1);
      await send('DELETE', `/tokens/${id}`, id, 'deleted');
    }
  }

  for (let round = 0; round < rounds; round += 1) {
    const writer = async (own: string[]) => {
      for (let count = 0; count < operationsARound / WRITERS; count += 1) await next(own);
    };
    await Promise.all(owned.map((own) => writer(own)));
    await sleep(PAUSE_MS);
  }
  return operations;
}
