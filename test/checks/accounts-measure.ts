import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from './accounts-attacks.ts';
import { type Beside, callBare, callHonestly } from './accounts-callers.ts';
import type { Accounts } from './accounts-fixture.ts';
import { send, type Traffic } from './accounts-traffic.ts';
import { startBareServer } from './bare-server.ts';
import { CheckFailure } from './check.ts';
import { peakMiB, processorSeconds } from './process-figures.ts';

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
  /** The daemon's program. Default: the build of this checkout. */
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
