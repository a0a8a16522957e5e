import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBareServer } from './bare-server.ts';
import { type Check, CheckFailure, type CheckOptions, type Figures } from './check.ts';
import { createKeepAlives } from './keep-alives.ts';
import { percentile, seededNumbers } from './perform.ts';
import { descriptorsOf } from './process-figures.ts';
import { type ServedVault, serveVault } from './served-vault.ts';

const IDLE = { quick: 1_000, full: 10_000 } as const;
const ACTIVE = 100;
/** The requests on each active connection, and their average pause, so that the machine keeps up. */
const ROUNDS = { quick: 10, full: 30 } as const;
const PAUSE_MS = 400;
const MAX_P99_MS = 100;
const FEW_DESCRIPTORS = 256;
const TOO_MANY = 400;
const MAX_RECOVERY_MS = 5_000;

/** Sends a GET through the agent. Resolves to its status and duration in milliseconds. */
function get(url: string, agent: Agent, apiKey: string): Promise<{ readonly status: number; readonly ms: number }> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers: { 'SVC-API-KEY': apiKey } }, (response) => {
      response.resume();
      response.once('end', () => resolve({ status: response.statusCode ?? 0, ms: performance.now() - started }));
    });
    asked.setTimeout(10_000, () => asked.destroy(new Error('no answer within 10 s')));
    asked.once('error', reject);
    asked.end();
  });
}

interface Load {
  readonly url: string;
  readonly apiKey: string;
  readonly connections: number;
  readonly rounds: number;
  readonly random: () => number;
}

async function ask({ url, apiKey, connections, rounds, random }: Load): Promise<{ took: number[]; failed: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const took: number[] = [];
  let failed = 0;
  async function one(): Promise<void> {
    for (let round = 0; round <= rounds; round++) {
      await sleep(random() * 2 * PAUSE_MS);
      const { status, ms } = await get(url, agent, apiKey);
      if (status !== 200) failed++;
      // The first request includes the connection set-up.
      if (round > 0) took.push(ms);
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, one));
    return { took, failed };
  } finally {
    agent.destroy();
  }
}

/** Measures the vault and a bare server at the same time. The bare server shows the delay that the machine adds. */
async function askBoth(vault: ServedVault, seed: number, rounds: number) {
  const random = seededNumbers(seed);
  const body = { type: 'token', data: 1 };
  const id = String((await vault.remote(vault.everything, 'createToken', { body })).body['id']);
  using bare = await startBareServer();
  const load = { apiKey: vault.everything, rounds, random };
  const [active, beside] = await Promise.all([
    ask({ ...load, url: `${vault.url()}/tokens/${id}`, connections: ACTIVE }),
    ask({ ...load, url: bare.url, connections: ACTIVE }),
  ]);
  return { active, beside };
}

/** Keeps thousands of used connections open and measures requests on a hundred others. */
async function manyIdle(vault: ServedVault, { seed, quick }: CheckOptions): Promise<Figures> {
  const size = quick ? 'quick' : 'full';
  await vault.start();
  const before = descriptorsOf(vault.pid());
  using idle = createKeepAlives(vault.url());
  try {
    await idle.open(IDLE[size]);
    const { active, beside } = await askBoth(vault, seed, ROUNDS[size]);
    const { took, failed } = active;
    const held = descriptorsOf(vault.pid());
    const figures = {
      idle: idle.openNow(),
      active: ACTIVE,
      requests: took.length,
      failed,
      active_p50_ms: percentile(took, 0.5),
      active_p99_ms: percentile(took, 0.99),
      bare_server_p99_ms: percentile(beside.took, 0.99),
      descriptors: held - before,
    };
    if (failed > 0) throw new CheckFailure(`${failed} requests failed`, figures);
    if (figures.idle < IDLE[size]) throw new CheckFailure('idle connections were closed', figures);
    // A busy machine delays both servers alike.
    if (figures.active_p99_ms - figures.bare_server_p99_ms >= MAX_P99_MS)
      throw new CheckFailure('active connections wait', figures);
    return figures;
  } finally {
    idle.close();
    await vault.kill();
  }
}

async function answers(vault: ServedVault): Promise<boolean> {
  const agent = new Agent();
  try {
    return (await get(`${vault.url()}/readyz`, agent, vault.everything)).status === 200;
  } catch {
    return false;
  } finally {
    agent.destroy();
  }
}

/** Opens too many connections. The daemon must keep serving the open ones, and recover when they close. */
async function atTheLimit(vault: ServedVault): Promise<Figures> {
  await vault.start({ descriptors: FEW_DESCRIPTORS });
  const idle = createKeepAlives(vault.url());
  try {
    await idle.open(50);
    const inside = idle.openNow();
    await idle.attempt(TOO_MANY);
    const refused = TOO_MANY + inside - idle.openNow();
    const first = await idle.ask(10);
    const overloaded = await answers(vault);
    idle.close();
    const started = performance.now();
    let recovered = false;
    while (!recovered && performance.now() - started < MAX_RECOVERY_MS) {
      recovered = await answers(vault);
      if (!recovered) await sleep(20);
    }
    const written = await vault.remote(vault.everything, 'createToken', { body: { type: 'token', data: 2 } });
    const figures = {
      limit: FEW_DESCRIPTORS,
      attempted: TOO_MANY + inside,
      refused,
      answered_at_limit: first,
      new_ones_answered_at_limit: overloaded,
      recovered_ms: Math.round(performance.now() - started),
    };
    if (refused === 0) throw new CheckFailure('nothing was refused', figures);
    if (first < 10) throw new CheckFailure(`${10 - first} of 10 open connections were not answered`, figures);
    if (!recovered || written.status !== 201) throw new CheckFailure('it did not recover', figures);
    return figures;
  } finally {
    idle.close();
    await vault.kill();
  }
}

async function run(options: CheckOptions): Promise<Figures> {
  await using vault = await serveVault();
  return { ...(await manyIdle(vault, options)), ...(await atTheLimit(vault)) };
}

/** Runs a daemon that freezes for a fifth of a second now and then. */
async function control({ seed }: CheckOptions): Promise<unknown> {
  await using vault = await serveVault();
  let over = false;
  const stopping = (async () => {
    while (!over) {
      await sleep(1_000);
      // The daemon may not have started yet.
      if (over || !vault.running()) continue;
      process.kill(vault.pid(), 'SIGSTOP');
      await sleep(200);
      if (vault.running()) process.kill(vault.pid(), 'SIGCONT');
    }
  })();
  try {
    return await manyIdle(vault, { seed, quick: true });
  } finally {
    over = true;
    await stopping;
  }
}

export const CHECK: Check = { number: 14, name: 'connections', quick: false, runs: 'alone', run, control };
