import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { startDaemon } from './daemon-process.ts';
import { createExpectedState, type State } from './expected-state.ts';
import { makeFolder } from './folder.ts';
import { assertStrace } from './io-faults-strace.ts';
import { writeTokens } from './kill-writer.ts';
import { createCaller, type Perform } from './perform.ts';
import { type DiskEvent, readTrace, recorder, traceIdOf } from './power-loss-trace.ts';
import { makeVaultFile, type VaultFile } from './vault-file.ts';

/** A write that was sent: the token and its new state. Its index in the list is its number. */
export interface SentOperation {
  readonly id: string;
  readonly state: State;
}

/** The life of a daemon, from an empty vault to SIGTERM. */
export interface Recording extends Pick<VaultFile, 'credential' | 'everything'> {
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
  assertStrace();
  using folder = makeFolder();
  const { file, keyFile: _, ...keys } = await makeVaultFile(folder.path);
  const database = readFileSync(file);
  const prefix = join(folder.path, 'trace');
  await using daemon = await startDaemon({
    file,
    readyFile: join(folder.path, 'ready.json'),
    wrap: (line) => [...recorder(prefix), ...line],
    bin,
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

/** Writes with a trace id for each write. The reply contains it. */
async function work(
  url: string,
  key: string,
  { random, rounds, operationsARound, longest }: Omit<RecordOptions, 'bin'>,
): Promise<readonly SentOperation[]> {
  const operations: SentOperation[] = [];
  const client = remoteClient({ url });
  const call = createCaller(() => client, []);
  const perform: Perform = (apiKey, operation, parts) =>
    call(apiKey, operation, { ...parts, traceId: traceIdOf(operations.length - 1) });
  const expected = {
    ...createExpectedState(false),
    nextVersion: () => operations.length,
    sends: (id: string, state: State) => void operations.push({ id, state }),
  };
  const owned: string[][] = Array.from({ length: WRITERS }, () => []);
  for (let round = 0; round < rounds; round += 1) {
    const writers = owned.map((own) => {
      let left = operationsARound / WRITERS;
      const took = () => void left--;
      return writeTokens({ perform, key, expected, random, own, longest, took, ended: () => left <= 0 });
    });
    await Promise.all(writers);
    await sleep(PAUSE_MS);
  }
  await client.close();
  return operations;
}
