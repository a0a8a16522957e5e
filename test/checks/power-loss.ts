import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { createExpectedState } from './expected-state.ts';
import { makeMemoryFolder } from './folder.ts';
import { builtText, withPatch } from './patched-product.ts';
import { seededNumbers } from './perform.ts';
import { createCrashDisk, type Image, LOSSES, type Loss } from './power-loss-disk.ts';
import { type Recording, record } from './power-loss-record.ts';
import { readTokens, withVault } from './vault-file.ts';

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
