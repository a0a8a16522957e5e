import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, CheckFailure, type CheckOptions, type Figures, mustAllFail } from './check.ts';
import { createFastClock } from './clocks.ts';
import { makeFolder } from './folder.ts';
import { createKeepAlives } from './keep-alives.ts';
import { builtText, patchProduct } from './patched-product.ts';
import { descriptorsOf, residentMiB } from './process-figures.ts';
import { keepRows, putBack, TOKENS } from './put-back.ts';
import { type ServedVault, serveVault, startServedVault } from './served-vault.ts';
import { callsOf, createLoadReport, type LoadReport, soakWorker } from './soak-load.ts';
import { readColumn } from './tamper-file.ts';

const WORKERS = 8;
const EVERY_MS = 1_000;
interface Duration {
  readonly minutes: number;
  /** The minutes before memory is measured. */
  readonly settledAfter: number;
  readonly calls: number;
  /** The minimum time between two calls of a worker, in milliseconds. */
  readonly everyMs: number;
}
const QUICK: Duration = { minutes: 1 / 3, settledAfter: 1 / 6, calls: 0, everyMs: 28 };
const FULL: Duration = { minutes: 10, settledAfter: 2, calls: 1_000_000, everyMs: 0 };
/** The most that the memory may grow with each call from `settledAfter` on, in bytes. The C library keeps free memory, too. */
const MAX_KEPT_BYTES = 100;
/** The pause between two maintenance tasks on the served vault, in milliseconds. */
const MAINTENANCE_MS = 10_000;
/** The clock of the vault: 10 minutes of load are a day, with 1,440 sweeps. */
const SPEED = 144;
/** The shortest lifetime of a token that expires, on the machine's clock, in milliseconds. */
const LIFETIME_MS = 2_000;
/** The time after which an expired token counts as forgotten, on the machine's clock, in milliseconds. */
const OVERDUE_MS = 2 * 60_000;
const MAX_WAL_MIB = 16;
/**
 * Settings under which the daemon's memory is what it uses: what is garbage is collected every 10 seconds, the young
 * generation keeps one size, and the C library has one arena and returns what is free at its end. Otherwise V8 postpones
 * collections at full load and doubles the young generation up to 128 MiB, and buffers that wait for a collection scatter
 * the C library's free memory: 20 to 45 MiB in use took 60 to 120.
 */
const SETTLED = {
  nodeFlags: [
    '--min-semi-space-size=16',
    '--max-semi-space-size=16',
    '--expose-gc',
    '--import=data:text/javascript,setInterval(gc,10_000).unref()',
  ],
  env: { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' },
};
/** The bytes that the control's daemon keeps of each request. The check must detect half of that growth. */
const KEPT_BYTES = 8192;
const KEPT = builtText('response.end(bodyText??"",');
const KEEPING = `(globalThis.kept??=[]).push(Buffer.alloc(${KEPT_BYTES},1)),${KEPT}`;
const SHORT: Duration = { ...QUICK, minutes: 1, settledAfter: 1 / 2 };
/** The allowed change of descriptors: each worker and SQLite open and close some. */
const DESCRIPTOR_TOLERANCE = WORKERS + 4;

interface Sample {
  readonly minute: number;
  readonly rss: number;
  readonly descriptors: number;
  readonly walBytes: number;
}

/** Returns the slope of the regression line (least squares). */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(points.map(([x]) => x));
  const level = mean(points.map(([, y]) => y));
  const spread = points.reduce((sum, [x]) => sum + (x - middle) ** 2, 0);
  return points.reduce((sum, [x, y]) => sum + (x - middle) * (y - level), 0) / spread;
}

/** Summarizes the samples. The slope covers those from minute `settledAfter` on. */
function soakFigures(samples: readonly Sample[], settledAfter: number) {
  const settled = samples.filter(({ minute }) => minute >= settledAfter);
  const round = (value: number) => Math.round(value * 100) / 100;
  const descriptors = settled.map((sample) => sample.descriptors);
  return {
    samples: samples.length,
    rss_start_mib: round(samples[0]?.rss ?? 0),
    rss_end_mib: round(samples.at(-1)?.rss ?? 0),
    rss_max_mib: round(Math.max(...samples.map(({ rss }) => rss))),
    rss_slope_mib_per_min: round(slope(settled.map(({ minute, rss }) => [minute, rss]))),
    wal_max_mib: round(Math.max(...samples.map(({ walBytes }) => walBytes)) / 2 ** 20),
    descriptors_min: Math.min(...descriptors),
    descriptors_max: Math.max(...descriptors),
  };
}

/** Measures the daemon. Uses only `stat` on the log, because reading an open database can drop its locks. */
function look(vault: ServedVault, minute: number): Sample {
  return {
    minute,
    rss: residentMiB(vault.pid()),
    descriptors: descriptorsOf(vault.pid()),
    walBytes: statSync(`${vault.file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

interface SoakOptions {
  /** Runs before each sample, and causes the flaw of the control. */
  readonly besides?: () => Promise<void>;
  readonly clock?: { readonly now: () => number; readonly speed: number };
}

async function soak(
  vault: ServedVault,
  seed: number,
  { minutes, calls, everyMs }: Duration,
  { besides, clock = { now: Date.now, speed: 1 } }: SoakOptions = {},
): Promise<Soaked> {
  const lifetime = LIFETIME_MS * clock.speed;
  const report = createLoadReport();
  const samples: Sample[] = [];
  const started = performance.now();
  const minute = () => (performance.now() - started) / 60_000;
  const ended = () => minute() >= minutes && callsOf(report) >= calls;
  const workers = Array.from({ length: WORKERS }, (_, index) =>
    soakWorker(vault, report, {
      seed: seed + index,
      name: `worker-${index}`,
      everyMs,
      ended,
      now: clock.now,
      lifetime,
    }),
  );
  while (!ended()) {
    await besides?.();
    await sleep(EVERY_MS);
    samples.push(look(vault, minute()));
  }
  await Promise.all(workers);
  return { report, samples, overdue: await overdueOf(vault.file, clock.now() - OVERDUE_MS * clock.speed) };
}

/** Compares the records with the audit while calls write. Rejects with a `CheckFailure` if they differ. */
async function compare(vault: ServedVault): Promise<void> {
  await vault.cli(['doctor'], '').catch((error: { readonly stdout?: string }) => {
    throw new CheckFailure(`the comparison failed: ${error.stdout}`, {});
  });
}

/** Rotates the keys, prunes the audit, lets the daemon reopen its log, and compares, in turn, until the load ends. */
async function keepUp(vault: ServedVault, folder: string, now: () => number, ended: () => boolean): Promise<Upkeep> {
  const done: Upkeep = { rotations: 0, prunes: 0, reopened: 0, comparisons: 0 };
  const works: readonly (() => Promise<void>)[] = [
    async () => {
      await vault.cli(['keys', 'rotate'], '');
      done.rotations += 1;
    },
    async () => {
      const before = new Date(now() - MAINTENANCE_MS * SPEED).toISOString();
      await vault.cli(
        ['audit', 'prune', '--yes', '--before', before, '--archive', join(folder, `audit-${done.prunes}`)],
        '',
      );
      done.prunes += 1;
    },
    async () => {
      process.kill(vault.pid(), 'SIGUSR2');
      done.reopened += 1;
    },
    async () => {
      await compare(vault);
      done.comparisons += 1;
    },
  ];
  for (let n = 0; !ended(); n += 1) {
    await sleep(MAINTENANCE_MS);
    await works[n % works.length]?.();
  }
  return done;
}

interface Upkeep {
  rotations: number;
  prunes: number;
  reopened: number;
  comparisons: number;
}

/** Counts the tokens that expired before `due`, which a sweep should have removed long ago. */
async function overdueOf(file: string, due: number): Promise<number> {
  const [overdue] = await readColumn(file, 'SELECT count(*) FROM token WHERE expires_at < ?', due);
  return Number(overdue);
}

interface Soaked {
  readonly report: LoadReport;
  readonly samples: readonly Sample[];
  readonly overdue: number;
}

interface Judged {
  readonly settledAfter: number;
  /** The largest allowed memory growth in MiB per minute. Default: `MAX_KEPT_BYTES` for each call. */
  readonly mostSlope?: number;
}

function figuresOf({ report, samples, overdue }: Soaked, settledAfter: number) {
  const { counts, expiring, lost, errors } = report;
  const memory = soakFigures(samples, settledAfter);
  const calls = callsOf(report);
  const callsPerMinute = calls / (samples.at(-1)?.minute ?? 1);
  const kept_bytes_per_call = Math.round((memory.rss_slope_mib_per_min * 2 ** 20) / callsPerMinute);
  return { ...memory, kept_bytes_per_call, ...counts, calls, expiring, overdue, lost, errors };
}

function judge(soaked: Soaked, { settledAfter, mostSlope }: Judged): Figures {
  const figures = figuresOf(soaked, settledAfter);
  if (figures.errors > 0) throw new CheckFailure(`an error: ${soaked.report.firstError}`, figures);
  if (figures.lost > 0) throw new CheckFailure(`${figures.lost} tokens were lost`, figures);
  if (figures.overdue > 0) throw new CheckFailure(`${figures.overdue} expired tokens were not swept`, figures);
  if (figures.wal_max_mib >= MAX_WAL_MIB) throw new CheckFailure(`the log grew to ${figures.wal_max_mib} MiB`, figures);
  if (figures.descriptors_max - figures.descriptors_min > DESCRIPTOR_TOLERANCE) {
    throw new CheckFailure(`${figures.descriptors_min} to ${figures.descriptors_max} descriptors`, figures);
  }
  const isGrowing =
    mostSlope === undefined
      ? figures.kept_bytes_per_call >= MAX_KEPT_BYTES
      : figures.rss_slope_mib_per_min >= mostSlope;
  if (isGrowing) throw new CheckFailure(`memory grows by ${figures.rss_slope_mib_per_min} MiB a minute`, figures);
  return figures;
}

async function run({ seed }: CheckOptions): Promise<Figures> {
  const { now, nodeFlag } = createFastClock(SPEED);
  await using vault = await serveVault([nodeFlag]);
  using temporary = makeFolder();
  const folder = temporary.path;
  await vault.start({ ...SETTLED, flags: ['--log-file', join(folder, 'log')] });
  let isEnded = false;
  const begun = now();
  const upkeep = keepUp(vault, folder, now, () => isEnded);
  const soaked = await soak(vault, seed, FULL, { clock: { now, speed: SPEED } }).finally(() => {
    isEnded = true;
  });
  const hours = Math.round((now() - begun) / 3_600_000);
  const figures = { hours, ...judge(soaked, FULL), ...(await upkeep) };
  const { ok, entries } = JSON.parse(await vault.cli(['audit', 'verify'], ''));
  if (ok !== true) throw new CheckFailure('the audit does not verify', figures);
  return { ...figures, entries };
}

/** Opens more connections before each sample, so that the daemon's descriptors grow. */
async function leakDescriptors(seed: number): Promise<Figures> {
  await using vault = await startServedVault(SETTLED);
  using idle = createKeepAlives(vault.url());
  const soaked = await soak(vault, seed, QUICK, { besides: () => idle.open(10) });
  return judge(soaked, { settledAfter: 0, mostSlope: Number.POSITIVE_INFINITY });
}

/** Makes the daemon keep 8 KiB of each request. Within a minute the heap itself varies by 10 to 20 MiB. */
async function leakMemory(seed: number): Promise<Figures> {
  using product = patchProduct(KEPT, KEEPING);
  await using vault = await startServedVault({ ...SETTLED, bin: product.bin });
  const soaked = await soak(vault, seed, SHORT);
  const kept = (figuresOf(soaked, 0).calls / SHORT.minutes) * (KEPT_BYTES / 2 ** 20);
  return judge(soaked, { settledAfter: SHORT.settledAfter, mostSlope: Math.max(1, kept / 2) });
}

async function restoreToken(seed: number): Promise<Figures> {
  await using vault = await startServedVault();
  const { body } = await vault.direct(vault.everything, 'createToken', { body: { type: 'token', data: 'old' } });
  const before = await keepRows(vault.file);
  await vault.direct(vault.everything, 'updateToken', { id: String(body['id']), body: { data: 'new' } });
  await putBack(vault.file, before, TOKENS);
  await Promise.all([soak(vault, seed, QUICK), compare(vault)]);
  return {};
}

const control = ({ seed }: CheckOptions) =>
  mustAllFail([() => leakDescriptors(seed), () => leakMemory(seed), () => restoreToken(seed)]);

export const CHECK: Check = { number: 13, name: 'soak', quick: false, runs: 'beside', run, control };
