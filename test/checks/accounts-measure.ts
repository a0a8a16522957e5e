import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Attack } from './accounts-attacks.ts';
import type { Accounts } from './accounts-fixture.ts';
import { startBareServer } from './bare-server.ts';
import { CheckFailure } from './check.ts';
import { peakMiB, processorSeconds } from './process-figures.ts';
import type { ServedVault } from './served-vault.ts';

const PAUSE_MS = 10;
/** The durations without an attack and of an attack, in milliseconds. */
const IDLE_MS = { quick: 100, full: 1_500 } as const;
const ATTACK_MS = { quick: 500, full: 4_000 } as const;
const MAX_MS = 20_000;
/** The rounds of the other caller that an attack outlasts, however busy the machine is. One of them has begun before. */
const MIN_ROUNDS = { quick: 1, full: 2 } as const;
/** The share of a processor of an idle daemon, with the ends of its writes. */
export const IDLE = 0.25;
/** How long a client stays in the second attack, and the time after which its work must have ended. */
const [STAY_MS, LEAVING_MS, WATCHED_MS] = [400, 1_000, 500];

/** The costs of an attack, for the daemon and for others. Times are in seconds, except `waitMs` and `machineMs`. */
export type Cost = Awaited<ReturnType<typeof measureAttack>>;

export interface MeasureOptions {
  readonly accounts: Omit<Accounts, 'port'>;
  readonly quick: boolean;
  readonly bin?: string;
}

/** Runs an attack against a fresh daemon. Rejects with a `CheckFailure` when the daemon ends. */
export async function measureAttack(attack: Attack, { accounts, quick, bin }: MeasureOptions) {
  const { vault } = accounts;
  using bare = await startBareServer();
  const pauseMs = attack.pauseMs ?? PAUSE_MS;
  const { flags = [], nodeFlags = [] } = attack;
  await vault.start({ flags: ['--log', 'false', ...flags], nodeFlags, ...(bin && { bin }) });
  const callers: Beside[] = [];
  const stop = () => Promise.all(callers.splice(0).map((caller) => caller.stop()));
  const start = async () => {
    const both = [await callHonestly(vault, pauseMs), callBare(bare.url, pauseMs)] as const;
    callers.push(...both);
    return both;
  };
  try {
    const pid = vault.pid();
    const port = Number(new URL(vault.url()).port);
    const traffic = { port, ...attack.traffic({ ...accounts, port }, quick ? 0.2 : 1) };
    const size = quick ? 'quick' : 'full';

    await untilIdle(pid);
    const [idle] = await start();
    await sleep(IDLE_MS[size]);
    await stop();

    const [honest, bareCaller] = await start();
    const used = processorSeconds(pid);
    const sender = await send(traffic);
    const [begun, rounds] = [performance.now(), honest.rounds()];
    const isAnswered = () => attack.untilAnswered === true && sender.replies() >= traffic.connections;
    const ran = () => performance.now() - begun;
    const isOver = () =>
      !attack.untilAnswered && ran() > ATTACK_MS[size] && honest.rounds() >= rounds + MIN_ROUNDS[size];
    while (!isAnswered() && !isOver() && ran() < MAX_MS) await sleep(20);
    const seconds = ran() / 1000;
    await stop();
    const besides = processorSeconds(pid) - used;
    const peak = peakMiB(pid);
    sender.end();
    const isBound = attack.bounds.processor !== undefined;
    return {
      waitMs: honest.waitMs(),
      /** The longest wait before the attack, or of a caller of a bare server during it: the share of the machine. */
      machineMs: Math.max(idle.waitMs(), bareCaller.waitMs()),
      peakMiB: peak,
      processor: isBound ? await alone(pid, traffic) : besides,
      seconds,
      refused: honest.refused,
      statuses: sender.statuses(),
      isAnswered: isAnswered(),
      /** The share of a processor that the daemon uses a second after the client has left. */
      after: quick && !isBound ? 0 : await leave(pid, traffic),
    };
  } catch (error) {
    if (vault.running()) throw error;
    throw new CheckFailure(`${attack.name}: the daemon ends`);
  } finally {
    await Promise.allSettled([stop()]);
    await vault.kill();
  }
}

/** Resolves when a new daemon has compared its records with the audit, which takes seconds of processor. */
async function untilIdle(pid: number): Promise<void> {
  const begun = performance.now();
  for (let used = processorSeconds(pid); performance.now() - begun < MAX_MS; used = processorSeconds(pid)) {
    await sleep(WATCHED_MS);
    if (processorSeconds(pid) - used < IDLE * (WATCHED_MS / 1000)) return;
  }
  throw new CheckFailure('the daemon never rests');
}

/** Sends the traffic once more, beside no other caller. Resolves to the processor seconds until all replies. */
async function alone(pid: number, traffic: Traffic): Promise<number> {
  await sleep(LEAVING_MS);
  const used = processorSeconds(pid);
  const sender = await send(traffic);
  const begun = performance.now();
  while (sender.replies() < traffic.connections && performance.now() - begun < MAX_MS) await sleep(20);
  const seconds = processorSeconds(pid) - used;
  sender.end();
  return seconds;
}

/** Sends the traffic once more and leaves. Resolves to the share of a processor that is used a second later. */
async function leave(pid: number, traffic: Traffic): Promise<number> {
  const sender = await send(traffic);
  await sleep(STAY_MS);
  sender.end();
  await sleep(LEAVING_MS);
  const used = processorSeconds(pid);
  await sleep(WATCHED_MS);
  return (processorSeconds(pid) - used) / (WATCHED_MS / 1000);
}

const SENDER = fileURLToPath(new URL('accounts-sender.mjs', import.meta.url));

export interface Traffic {
  readonly port: number;
  readonly connections: number;
  readonly texts: readonly string[];
  /** Reads the replies. Default: leaves them unread. */
  readonly reads?: boolean;
  /** Sends one more byte a second on each connection. */
  readonly drips?: boolean;
  /** Ends all connections and opens as many again, three times a second. */
  readonly repeats?: boolean;
}

/** Sends traffic from a process of its own, so that sending does not delay measurements. Resolves when all is sent. */
async function send(traffic: Traffic) {
  const child = spawn(process.execPath, [SENDER], { stdio: ['pipe', 'pipe', 'inherit'] });
  let statuses: Readonly<Record<string, number>> = {};
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(traffic));
  child.stdout.setEncoding('utf8').on('data', (lines: string) => {
    statuses = JSON.parse(lines.trimEnd().split('\n').at(-1) ?? '{}');
  });
  await once(child.stdout, 'data');
  return {
    statuses: () => statuses,
    replies: () => Object.values(statuses).reduce((sum, count) => sum + count, 0),
    end: () => void child.kill('SIGKILL'),
  };
}

/** The sizes of written tokens. All slow bodies of 64 KiB together leave less than a small one of 24 MiB. */
const [SMALL, LARGE] = ['x'.repeat(8 * 1024), 'x'.repeat(200 * 1024)];

type Beside = ReturnType<typeof callBeside>;

/** Sends rounds of requests until it is stopped. Each request resolves to its status. */
function callBeside(requests: readonly (() => Promise<number>)[], pauseMs: number) {
  const refused: number[] = [];
  let [longest, rounds, over] = [0, 0, false];
  const running = (async () => {
    while (!over) {
      for (const request of requests) {
        const asked = performance.now();
        const status = await request();
        longest = Math.max(longest, performance.now() - asked);
        if (status >= 300) refused.push(status);
        await sleep(pauseMs);
      }
      rounds += 1;
    }
  })();
  // `stop` reports the error.
  running.catch(() => undefined);
  return {
    waitMs: () => longest,
    refused,
    rounds: () => rounds,
    async stop() {
      over = true;
      await running;
    },
  };
}

/** Sends a GET on a connection of its own, as a command does. Resolves to its status. */
async function getOnNewConnection(url: string, key: string): Promise<number> {
  const [response] = await once(get(url, { agent: false, headers: { 'SVC-API-KEY': key } }), 'response');
  await once(response.resume(), 'end');
  return response.statusCode;
}

/** Starts an application that reads a small token, also on new connections, and writes small and large ones. */
async function callHonestly({ remote, everything, url }: ServedVault, pauseMs: number): Promise<Beside> {
  const create = (data: string) => remote(everything, 'createToken', { body: { type: 'token', data } });
  const id = String((await create('x')).body['id']);
  const called = [
    async () => (await remote(everything, 'getToken', { id })).status,
    () => getOnNewConnection(`${url()}/tokens/${id}`, everything),
    async () => (await create(SMALL)).status,
    async () => (await create(LARGE)).status,
  ];
  const requests = called.map((call) => async () => {
    try {
      return await call();
    } catch (error) {
      throw new CheckFailure(`the daemon does not answer: ${error}`);
    }
  });
  return callBeside(requests, pauseMs);
}

/** Starts a caller of a bare server, with bodies of the same sizes. Its waits are those that the machine causes. */
function callBare(url: string, pauseMs: number): Beside {
  const send = async (body?: string) => {
    const response = await fetch(url, body === undefined ? {} : { method: 'POST', body });
    await response.arrayBuffer();
    return response.status;
  };
  return callBeside([() => send(), () => send(SMALL), () => send(LARGE)], pauseMs);
}
