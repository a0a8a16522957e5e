import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { CELL, type FlipJob, type FlipTally, type FlipTrouble } from './bit-flip-worker.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { makeMemoryFolder } from './folder.ts';
import { seededNumbers } from './perform.ts';
import { makeTamperVault } from './tamper-vault.ts';

const QUICK_FLIPS = 1_500;
const CONTROL_FLIPS = 3_000;
const MAX_NAMED = 20;
/** The readers of the vault that the check asks: revealed and masked. */
const READERS = 2;

/** Runs a job in its own process, because an altered file may crash its reader. */
function runWorker(script: string, job: FlipJob): Promise<FlipTally> {
  return new Promise((resolve, reject) => {
    const worker = fork(script, ['flip'], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    process.once('exit', () => worker.kill('SIGKILL'));
    worker.once('message', (tally: FlipTally) => resolve(tally));
    worker.once('error', reject);
    worker.once('exit', (code, signal) => {
      reject(new CheckFailure(`a process that opens altered files ended with ${signal ?? code}`));
    });
    worker.send(job);
  });
}

interface FlipOptions {
  readonly seed: number;
  readonly sample?: number;
  readonly blind?: boolean;
}

async function flips({ seed, sample, blind = false }: FlipOptions): Promise<Figures> {
  const random = seededNumbers(seed);
  using folder = makeMemoryFolder();
  const script = join(import.meta.dirname, 'bit-flip-worker.ts');
  using vault = await makeTamperVault(seed);
  const bytes = new Uint8Array(readFileSync(vault.name));
  const size = bytes.length;
  const offsets =
    sample === undefined
      ? Uint32Array.from({ length: size }, (_, offset) => offset)
      : Uint32Array.from({ length: sample }, () => Math.floor(random() * size)).toSorted();
  const workers = availableParallelism();
  const tallies = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runWorker(script, {
        bytes,
        keyFile: vault.keyFile,
        asked: {
          readers: vault.readers.slice(0, READERS),
          managers: vault.managers.slice(0, 1),
          tokens: vault.tokens.slice(0, -1),
        },
        file: join(folder.path, `flipped-${worker}.db`),
        seed: seed + worker,
        offsets: offsets.filter((offset) => Math.floor(offset / CELL) % workers === worker),
        grouped: sample === undefined,
        blind,
      }),
    ),
  );
  return judge(size, tallies);
}

function judge(size: number, tallies: readonly FlipTally[]): Figures {
  const sums: Record<string, number> = {};
  for (const [name, count] of tallies.flatMap(({ counts, codes }) => Object.entries({ ...counts, ...codes })))
    sums[name] = (sums[name] ?? 0) + count;
  const missed = tallies.flatMap((tally) => tally.missed);
  const wrong = tallies.flatMap((tally) => tally.wrong);
  const figures = { bytes: size, ...sums, losses_missed: missed.length, wrong_answers: wrong.length };
  if (wrong.length > 0) throw new CheckFailure(`wrong answers: ${name(wrong)}`, figures);
  if (missed.length > 0) throw new CheckFailure(`losses that doctor does not find: ${name(missed)}`, figures);
  return figures;
}

function name(troubles: readonly FlipTrouble[]): string {
  const named = troubles.slice(0, MAX_NAMED).map(({ offset, bit, what }) => `byte ${offset} bit ${bit}: ${what}`);
  return named.join('; ');
}

const run = ({ seed, quick }: CheckOptions) => flips({ seed, ...(quick && { sample: QUICK_FLIPS }) });

/** Runs without `vault doctor`, so that silent losses must make the check fail. */
const control = ({ seed }: CheckOptions) => flips({ seed, sample: CONTROL_FLIPS, blind: true });

export const CHECK: Check = { number: 4, name: 'bit flips', quick: false, runs: 'early', run, control };
