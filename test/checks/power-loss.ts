import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { startDaemon } from './daemon-process.ts';
import { makeFolder, makeMemoryFolder } from './folder.ts';
import { assertStrace } from './io-faults-strace.ts';
import { createExpectedState, type State, writeTokens } from './kill-writer.ts';
import { builtText, withPatch } from './patched-product.ts';
import { createCaller, type Perform, seededNumbers } from './perform.ts';
import { createCrashDisk, type Image, LOSSES, type Loss } from './power-loss-disk.ts';
import { type DiskEvent, readTrace, recorder, traceIdOf } from './power-loss-trace.ts';
import { makeVaultFile, readTokens, type VaultFile, withVault } from './vault-file.ts';

/** A write that was sent: the token and its new state. Its index in the list is its number. */
interface SentOperation {
  readonly id: string;
  readonly state: State;
}

/** The life of a daemon, from an empty vault to SIGTERM. */
interface Recording extends Pick<VaultFile, 'credential' | 'everything'> {
  readonly database: Buffer;
  readonly operations: readonly SentOperation[];
  readonly events: readonly DiskEvent[];
}

interface RecordOptions {
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
async function record({ bin, ...options }: RecordOptions): Promise<Recording> {
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

/** The setting that syncs each commit, as the built product has it. */
const SYNCED = builtText('["synchronous","FULL",2]');

/** The full run uses longer values, so that SQLite restarts the log before a pause lets the daemon empty it. */
const SIZES = {
  quick: { images: 100, rounds: 3, operationsARound: 40, longest: 2_000 },
  full: { images: 2_500, rounds: 6, operationsARound: 160, longest: 16_000 },
} as const;

/** A power failure after this many events, with this loss of unsynced changes. */
interface Failure {
  readonly after: number;
  readonly loss: Loss;
}

/**
 * Returns `count` random failures in the order of time. The power fails before and after syncs, after answers, and
 * after some writes.
 */
function drawFailures({ events }: Recording, count: number, random: () => number): readonly Failure[] {
  const moments = new Set<number>();
  for (const [index, { kind }] of events.entries()) {
    if (kind === 'sync') moments.add(index);
    if (kind !== 'write' || random() < 0.1) moments.add(index + 1);
  }
  const all = [...moments].flatMap((after) => LOSSES.map((loss) => ({ after, loss, order: random() })));
  return all
    .toSorted((a, b) => a.order - b.order)
    .slice(0, count)
    .toSorted((a, b) => a.after - b.after);
}

/** Opens the vault from an image and counts the tokens that differ from their acknowledged state. */
async function replay(recording: Recording, answered: ReadonlySet<number>, image: Image, folder: string) {
  const { credential, everything, operations } = recording;
  const file = join(folder, 'vault.db');
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  if (image.database) writeFileSync(file, image.database, { mode: 0o600 });
  if (image.log) writeFileSync(`${file}-wal`, image.log, { mode: 0o600 });
  const expected = createExpectedState(false);
  const waiting = new Set<string>();
  for (const [number, { id, state }] of operations.entries()) {
    // A token's next write starts only after the answer to its last write, so at most one write is in flight.
    if (waiting.has(id)) continue;
    expected.sends(id, state);
    if (answered.has(number)) expected.acknowledges(id, state);
    else waiting.add(id);
  }
  const found = await withVault({ file, credential }, (perform) => readTokens(perform, everything));
  for (const id of expected.all()) expected.finds(id, found.get(id));
  const { lost, undone, half } = expected.figures();
  return { lost, undone, half, first: expected.violations()[0] };
}

async function fail(recording: Recording, images: number, random: () => number) {
  using folder = makeMemoryFolder();
  const disk = createCrashDisk(recording.database);
  const answered = new Set<number>();
  const counts = {
    images: 0,
    with_unsynced_changes: 0,
    not_opened: 0,
    lost: 0,
    undone: 0,
    half: 0,
    images_with_loss: 0,
  };
  let first: string | undefined;
  let applied = 0;
  for (const { after, loss } of drawFailures(recording, images, random)) {
    for (; applied < after; applied += 1) {
      const event = recording.events[applied];
      if (event?.kind === 'answer') answered.add(event.operation);
      else if (event) disk.apply(event);
    }
    counts.images += 1;
    if (disk.pending() > 0) counts.with_unsynced_changes += 1;
    const where = `power lost after event ${after}, unsynced changes ${loss}`;
    try {
      const found = await replay(recording, answered, disk.fail(loss, random), folder.path);
      if (found.first !== undefined) counts.images_with_loss += 1;
      for (const kind of ['lost', 'undone', 'half'] as const) counts[kind] += found[kind];
      if (found.first !== undefined) first ??= `${where}: ${found.first}`;
    } catch (error) {
      counts.not_opened += 1;
      first ??= `${where}: ${String(error)}`;
    }
  }
  const figures = {
    acknowledged: recording.operations.length,
    syncs: recording.events.filter(({ kind }) => kind === 'sync').length,
    checkpoints: recording.events.filter((event) => event.kind === 'sync' && event.file === 'database').length,
    ...counts,
  };
  if (first !== undefined) throw new CheckFailure(first, figures);
  if (counts.images < images) throw new CheckFailure(`the recording gave only ${counts.images} images`, figures);
  return figures;
}

async function run({ seed, quick }: CheckOptions, bin?: string) {
  const { images, ...workload } = SIZES[quick ? 'quick' : 'full'];
  const random = seededNumbers(seed);
  return await fail(await record({ random, ...workload, ...(bin && { bin }) }), images, random);
}

/** Runs a product with the default setting of better-sqlite3, which answers before a write is on the disk. */
const control = ({ seed }: CheckOptions) =>
  withPatch([SYNCED, '["synchronous","NORMAL",1]'], (bin) => run({ seed, quick: true }, bin));

export const CHECK: Check = { number: 2, name: 'power loss', quick: true, run: (options) => run(options), control };
