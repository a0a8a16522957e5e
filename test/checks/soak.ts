import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { patchProduct } from './patched-product.ts';
import { descriptorsOf, residentMiB } from './process-figures.ts';
import { type ServedVault, serveVault } from './served-vault.ts';
import { type Sample, soakFigures } from './soak-figures.ts';
import { createLoadLedger, type LoadLedger, soakWorker } from './soak-load.ts';

const WORKERS = 8;
const EVERY_MS = 1_000;
/** Minutes of load, and the minutes before memory is measured. */
const DURATIONS = { quick: { minutes: 1 / 3, settledAfter: 1 / 6 }, full: { minutes: 10, settledAfter: 2 } } as const;
const MAX_SLOPE = 1;
const OVERDUE_MS = 2 * 60_000;
const MAX_WAL_MIB = 16;
/**
 * Starts Node's young generation at 16 MiB, the size to which it grows. On a busy machine it might otherwise grow in
 * the last minutes and look like a leak. Leaked memory is outside this generation.
 */
const SETTLED_HEAP = ['--min-semi-space-size=16'];
/** The bytes that the control's daemon keeps of each request. The check must detect half of that growth. */
const KEPT_BYTES = 8192;
const KEPT = 'response.end(reply.bodyText)';
const KEEPING = `(globalThis.kept??=[]).push(Buffer.alloc(${KEPT_BYTES},1)),${KEPT}`;
/** The duration of the control, in minutes. */
const SHORT = { minutes: 1, settledAfter: 1 / 2 } as const;
/**
 * The number of descriptors that may come and go. The client opens and closes a connection for each worker, and SQLite
 * its own files.
 */
const DESCRIPTOR_PLAY = WORKERS + 4;

/** Measures the daemon. Uses only `stat` on the log, because reading an open database can drop its locks. */
function look(vault: ServedVault, minute: number): Sample {
  return {
    minute,
    rss: residentMiB(vault.pid()),
    descriptors: descriptorsOf(vault.pid()),
    walBytes: statSync(`${vault.file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

/** Runs the load and takes samples. `besides` runs before each sample and causes the flaw of the control. */
async function soak(vault: ServedVault, seed: number, minutes: number, besides?: () => Promise<void>): Promise<Soaked> {
  const ledger = createLoadLedger();
  const samples: Sample[] = [];
  const started = performance.now();
  const minute = () => (performance.now() - started) / 60_000;
  const ended = () => minute() >= minutes;
  const workers = Array.from({ length: WORKERS }, (_, index) =>
    soakWorker(vault, ledger, { seed: seed + index, name: `worker-${index}`, ended }),
  );
  while (!ended()) {
    await besides?.();
    await sleep(EVERY_MS);
    samples.push(look(vault, minute()));
  }
  await Promise.all(workers);
  return { ledger, samples, overdue: await overdueOf(vault.file) };
}

/** Counts the tokens that a sweep every minute should have removed long ago. */
async function overdueOf(file: string): Promise<number> {
  const { default: Database } = await import('better-sqlite3');
  const database = new Database(file, { fileMustExist: true, readonly: true });
  try {
    const overdue = database.prepare<[number], number>('SELECT count(*) FROM token WHERE expires_at < ?').pluck();
    return overdue.get(Date.now() - OVERDUE_MS) ?? 0;
  } finally {
    database.close();
  }
}

interface Soaked {
  readonly ledger: LoadLedger;
  readonly samples: readonly Sample[];
  readonly overdue: number;
}

interface Judged {
  readonly settledAfter: number;
  /** The largest allowed memory growth in MiB per minute. Absent when the run is too short to measure it. */
  readonly mostSlope?: number;
}

function figuresOf({ ledger, samples, overdue }: Soaked, settledAfter: number) {
  const { counts, expiring, errors } = ledger;
  const calls = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { ...soakFigures(samples, settledAfter), ...counts, calls, expiring, overdue, errors };
}

function judge(soaked: Soaked, { settledAfter, mostSlope }: Judged): Figures {
  const figures = figuresOf(soaked, settledAfter);
  if (figures.errors > 0) throw new CheckFailure(`an error: ${soaked.ledger.firstError}`, figures);
  if (figures.overdue > 0) throw new CheckFailure(`${figures.overdue} expired tokens were not swept`, figures);
  if (figures.wal_max_mib >= MAX_WAL_MIB) throw new CheckFailure(`the log grew to ${figures.wal_max_mib} MiB`, figures);
  if (figures.descriptors_max - figures.descriptors_min > DESCRIPTOR_PLAY) {
    throw new CheckFailure(`${figures.descriptors_min} to ${figures.descriptors_max} descriptors`, figures);
  }
  if (mostSlope !== undefined && figures.rss_slope_mib_per_min >= mostSlope) {
    throw new CheckFailure(`memory grows by ${figures.rss_slope_mib_per_min} MiB a minute`, figures);
  }
  return figures;
}

async function run({ seed, quick }: CheckOptions): Promise<Figures> {
  const { minutes, settledAfter } = DURATIONS[quick ? 'quick' : 'full'];
  const vault = await serveVault();
  try {
    await vault.start({ nodeFlags: SETTLED_HEAP });
    // A young process still fills its memory, so only the full run judges the growth.
    return judge(await soak(vault, seed, minutes), { settledAfter, ...(!quick && { mostSlope: MAX_SLOPE }) });
  } finally {
    await vault.close();
  }
}

/** Opens more connections before each sample, so that the daemon's descriptors grow. */
async function leakDescriptors(seed: number): Promise<Figures> {
  const { leakConnections } = await import('./idle-connections.ts');
  const vault = await serveVault();
  const leak = leakConnections(() => vault.url());
  try {
    await vault.start({ nodeFlags: SETTLED_HEAP });
    return judge(await soak(vault, seed, DURATIONS.quick.minutes, () => leak.open(10)), { settledAfter: 0 });
  } finally {
    leak.close();
    await vault.close();
  }
}

/** Makes the daemon keep 8 KiB of each request. Within a minute the heap itself varies by 10 to 20 MiB. */
async function leakMemory(seed: number): Promise<Figures> {
  const product = patchProduct(KEPT, KEEPING);
  const vault = await serveVault();
  try {
    await vault.start({ nodeFlags: SETTLED_HEAP, bin: product.bin });
    const soaked = await soak(vault, seed, SHORT.minutes);
    const kept = (figuresOf(soaked, 0).calls / SHORT.minutes) * (KEPT_BYTES / 2 ** 20);
    return judge(soaked, { settledAfter: SHORT.settledAfter, mostSlope: Math.max(MAX_SLOPE, kept / 2) });
  } finally {
    await vault.close();
    product.remove();
  }
}

/** Runs both leaks. Rejects with a `CheckFailure` when the check detects both. */
async function control({ seed }: CheckOptions): Promise<Figures> {
  const found: string[] = [];
  for (const leak of [leakDescriptors, leakMemory]) {
    try {
      return await leak(seed);
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      found.push(error.message);
    }
  }
  throw new CheckFailure(found.join('; '));
}

export const CHECK: Check = { number: 13, name: 'soak', quick: false, runs: 'beside', run, control };
