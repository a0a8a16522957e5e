import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startScript } from './bare-server.ts';
import { type Check, CheckFailure } from './check.ts';
import { makeFolder } from './folder.ts';
import { percentile } from './perform.ts';
import { type ServedVault, startServedVault } from './served-vault.ts';

const LOCKED_MS = 3_000;
const EVERY_MS = 10;
const MAX_LAG_MS = 100;

/** Takes the write lock of a file, prints a line, and holds the lock for the given milliseconds. */
const LOCK_HOLDER = `
import Database from 'better-sqlite3';
const [, file, ms] = process.argv;
const database = new Database(file, { fileMustExist: true, timeout: 5000 });
database.exec('BEGIN IMMEDIATE');
console.log('locked');
setTimeout(() => { database.exec('ROLLBACK'); database.close(); }, Number(ms));
`;

/**
 * Serves HTTP and prints its port. A POST waits for the lock of a file inside the event loop, which the vault must not
 * do. A GET answers at once. Exits after 20 seconds.
 */
const STALLING_SERVER = `
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
const [, file] = process.argv;
const database = new Database(file, { timeout: 5000 });
database.pragma('journal_mode = WAL');
database.exec('CREATE TABLE t (x INTEGER)');
const server = createServer((request, response) => {
  if (request.method === 'POST') database.exec('INSERT INTO t VALUES (1)');
  response.end('{}');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
setTimeout(() => process.exit(), 20000);
`;

/** Calls `ask` at fixed intervals, so that every call in a stall is slow. Resolves to milliseconds. */
async function sample(ask: () => Promise<unknown>, held: () => boolean): Promise<number[]> {
  const took: number[] = [];
  const asked: Promise<void>[] = [];
  for (let due = performance.now(); held(); due += EVERY_MS) {
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    const started = performance.now();
    asked.push(ask().then(() => void took.push(performance.now() - started)));
  }
  await Promise.all(asked);
  return took;
}

async function whileLocked<T>(file: string, work: (held: () => boolean) => Promise<T>): Promise<T> {
  using holder = await startScript(LOCK_HOLDER, file, String(LOCKED_MS));
  let held = true;
  const released = once(holder.child, 'exit').finally(() => {
    held = false;
  });
  const [result] = await Promise.all([work(() => held), released]);
  return result;
}

interface Waiting {
  readonly url: string;
  readonly file: string;
}

/** Runs `work` with a server that blocks its event loop when a write waits for a lock. */
async function withStallingServer<T>(work: (server: Waiting) => Promise<T>): Promise<T> {
  using folder = makeFolder();
  const file = join(folder.path, 'other.db');
  using server = await startScript(STALLING_SERVER, file);
  return await work({ url: `http://127.0.0.1:${server.line}/`, file });
}

async function get(url: string): Promise<void> {
  await (await fetch(url)).text();
}

/** Loads this process's HTTP client: its first requests take longer than a stall. */
async function warmUp(...urls: readonly string[]): Promise<void> {
  for (let count = 0; count < 20; count++) for (const url of urls) await get(url);
}

async function writeFive({ everything, remote }: ServedVault) {
  return Promise.all(
    Array.from({ length: 5 }, async (_, index) => {
      await sleep(index * 500);
      const { status, body } = await remote(everything, 'createToken', { body: { type: 'token', data: index } });
      return { status, id: String(body['id']) };
    }),
  );
}

/** Summarizes how long the event loop was blocked. The idle server shows the delay that the machine adds. */
function lagFigures(lags: readonly number[], idle: readonly number[]) {
  return {
    probes: lags.length,
    lag_p99_ms: percentile(lags, 0.99),
    lag_max_ms: percentile(lags, 1),
    idle_p99_ms: percentile(idle, 0.99),
  };
}

function judge<T extends ReturnType<typeof lagFigures>>(figures: T): T {
  if (figures.probes < LOCKED_MS / EVERY_MS / 2) throw new CheckFailure(`only ${figures.probes} probes`, figures);
  if (figures.lag_p99_ms - figures.idle_p99_ms < MAX_LAG_MS) return figures;
  throw new CheckFailure(`the event loop stood still for ${figures.lag_p99_ms} ms`, figures);
}

async function measure(vault: ServedVault, idle: string) {
  const { everything, remote, file } = vault;
  const live = `${vault.url()}/livez`;
  const id = String((await remote(everything, 'createToken', { body: { type: 'token', data: 'x' } })).body['id']);
  await warmUp(live, idle);
  const refused: number[] = [];
  const read = async () => {
    const { status } = await remote(everything, 'getToken', { id });
    if (status !== 200) refused.push(status);
  };
  const [lags, idleLags, reads, written] = await whileLocked(file, (held) =>
    Promise.all([sample(() => get(live), held), sample(() => get(idle), held), sample(read, held), writeFive(vault)]),
  );
  const acknowledged = written.filter(({ status }) => status === 201);
  const found = await Promise.all(acknowledged.map((token) => remote(everything, 'getToken', { id: token.id })));
  const figures = {
    locked_ms: LOCKED_MS,
    ...lagFigures(lags, idleLags),
    reads: reads.length,
    reads_failed: refused.length,
    read_p99_ms: percentile(reads, 0.99),
    writes: written.length,
    writes_acknowledged: acknowledged.length,
    writes_busy: written.filter(({ status }) => status === 503).length,
    writes_lost: found.filter(({ status }) => status !== 200).length,
  };
  const strange = written.find(({ status }) => status !== 201 && status !== 503);
  if (strange) throw new CheckFailure(`a write was answered ${strange.status}`, figures);
  if (refused.length > 0) throw new CheckFailure(`a read was answered ${refused[0]}`, figures);
  if (figures.writes_lost > 0) throw new CheckFailure('an acknowledged token is not there', figures);
  return judge(figures);
}

async function run() {
  await using vault = await startServedVault();
  return await withStallingServer((idle) => measure(vault, idle.url));
}

/** Probes a server that waits for the lock inside its event loop. */
const control = () =>
  withStallingServer(({ url, file }) =>
    withStallingServer(async (idle) => {
      await warmUp(url, idle.url);
      const [lags, idleLags] = await whileLocked(file, (held) =>
        Promise.all([sample(() => get(url), held), sample(() => get(idle.url), held), fetch(url, { method: 'POST' })]),
      );
      return judge(lagFigures(lags, idleLags));
    }),
  );

export const CHECK: Check = { number: 17, name: 'locks', quick: false, runs: 'alone', run, control };
