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
/** Minutes of load, and how many of them pass before memory is looked at. */
const DURATIONS = { quick: { minutes: 1 / 3, settledAfter: 1 / 6 }, full: { minutes: 10, settledAfter: 2 } } as const;
const MAX_SLOPE = 1;
const OVERDUE_MS = 2 * 60_000;
const MAX_WAL_MIB = 16;
/**
 * Node's young generation grows to 16 MiB and is then as large, but when it does so depends on how busy the machine is: in
 * the last minutes it would be taken for a leak. It is that large from the start; what leaks is not in it.
 */
const SETTLED_HEAP = ['--min-semi-space-size=16'];
/** What the daemon of the control keeps of each request, and what its memory must grow by to be found out: half of that. */
const KEPT_BYTES = 8192;
const KEPT = 'response.end(reply.bodyText)';
const KEEPING = `(globalThis.kept??=[]).push(Buffer.alloc(${KEPT_BYTES},1)),${KEPT}`;
/** Of the control's, in minutes. */
const SHORT = { minutes: 1, settledAfter: 1 / 2 } as const;
/** The load has a connection a worker, which the client opens and closes as it likes; SQLite opens and closes its own files. */
const DESCRIPTOR_PLAY = WORKERS + 4;

/** Only `stat`: reading a file of an open database drops its locks where the reader is the one that has it open. */
function look(vault: ServedVault, minute: number): Sample {
  return {
    minute,
    rss: residentMiB(vault.pid()),
    descriptors: descriptorsOf(vault.pid()),
    walBytes: statSync(`${vault.file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

/** `besides` runs beside the load: what the control does wrong. */
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

/** Tokens that a sweeper of every minute should have removed from the file long ago. */
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
  /** Of memory, in MiB a minute; absent where the time is too short to say so. */
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
    // A process that is seconds old is still filling its memory: only a whole soak says what it grows by.
    return judge(await soak(vault, seed, minutes), { settledAfter, ...(!quick && { mostSlope: MAX_SLOPE }) });
  } finally {
    await vault.close();
  }
}

/** A load that leaves connections behind: the daemon's descriptors grow with each look. */
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

/** A daemon that keeps 8 KiB of each request: in a minute the heap itself plays by 10 to 20 MiB. */
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

/** Both must be found out; the figures of the first are of no interest when the second is not. */
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
