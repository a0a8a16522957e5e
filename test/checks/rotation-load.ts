import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel, type Perform, percentile } from './perform.ts';

const WRITERS = 3;
const READERS = 2;
const CALLERS = 32;
/** The number of tokens that one call reads back. */
const PAGE = 100;

/** Starts writers, which read their tokens back, and readers of `rotated-N` in `written`. */
function startLoad({ remote, everything }: Rotated, written: Map<string, number>, random: () => number) {
  const tokens = written.size;
  let running = true;
  let refused = 0;
  let firstRefusal = '';
  let version = 0;
  let latencies: number[] = [];

  function refuse(what: string): void {
    refused += 1;
    firstRefusal ||= what;
  }

  async function write(writer: number): Promise<void> {
    version += 1;
    const data = 1_000_000 + version;
    const own = Math.floor((random() * tokens) / WRITERS) * WRITERS + writer;
    const id = random() < 0.5 && own < tokens ? `rotated-${own}` : `new-${version}`;
    const known = written.has(id);
    const body = known ? { data } : { id, type: 'token', data };
    const parts = known ? { id, body } : { body };
    const operation = known ? 'updateToken' : 'createToken';
    const { status, text } = await remote(everything, operation, parts);
    if (status < 300) written.set(id, data);
    else refuse(`${operation} ${status} ${text}`);
    const { body: found } = await remote(everything, 'getToken', { id });
    if (found['data'] !== written.get(id)) refuse(`getToken of ${id}: ${JSON.stringify(found)}`);
  }

  async function read(): Promise<void> {
    const started = performance.now();
    const { status, text } = await remote(everything, 'getToken', { id: `rotated-${Math.floor(random() * tokens)}` });
    latencies.push(performance.now() - started);
    if (status !== 200) refuse(`getToken ${status} ${text}`);
  }

  const work = (step: () => Promise<void>) => async () => {
    while (running) await step();
  };
  const writers = Array.from({ length: WRITERS }, (_, writer) => work(() => write(writer))());
  const readers = Array.from({ length: READERS }, () => work(read)());

  return {
    refusals: () => ({ refused, firstRefusal }),
    /** Returns the number of reads since the last call, and their 99th percentile in milliseconds. */
    readsSince() {
      const since = { p99: percentile(latencies, 0.99), reads: latencies.length };
      latencies = [];
      return since;
    },
    async stop() {
      running = false;
      await Promise.all([...writers, ...readers]);
    },
  };
}

interface Rotated {
  readonly remote: Perform;
  readonly everything: string;
  spawnRotation(...flags: readonly string[]): ChildProcess;
}

interface LoadOptions {
  readonly tokens: number;
  readonly kills: number;
  readonly random: () => number;
  /** The time to measure reads before the first rotation, in milliseconds. */
  readonly beforeMs?: number;
  readonly onTokens?: () => Promise<void>;
  readonly finish: () => Promise<void>;
}

/** Rotates keys under load, kills rotations, and lets the last ones finish. `countLost` counts lost writes. */
export async function rotateBesideLoad(
  vault: Rotated,
  { tokens, kills, random, beforeMs = 0, onTokens, finish }: LoadOptions,
) {
  const { remote, everything } = vault;
  const written = new Map<string, number>();
  await inParallel(tokens, CALLERS, async (n) => {
    const body = { id: `rotated-${n}`, type: 'token', data: n, metadata: { tag: String(n) } };
    await remote(everything, 'createToken', { body });
    written.set(body.id, n);
  });
  await onTokens?.();
  const load = startLoad(vault, written, random);
  // Wait until the daemon has emptied the log and Node has compiled the hot code.
  await sleep(beforeMs / 2);
  load.readsSince();
  await sleep(beforeMs);
  const { p99: readP99Before } = load.readsSince();
  const killed = kills === 0 ? 0 : await killRotations(vault.spawnRotation, { kills, random });
  load.readsSince();
  const started = performance.now();
  await finish();
  const rotationMs = Math.round(performance.now() - started);
  const { p99: readP99During, reads: readsDuring } = load.readsSince();
  await load.stop();

  async function countLost(): Promise<number> {
    let lost = 0;
    const acknowledged = [...written];
    await inParallel(Math.ceil(acknowledged.length / PAGE), 2, async (page) => {
      const asked = acknowledged.slice(page * PAGE, (page + 1) * PAGE);
      const query = [`size=${PAGE}`, ...asked.map(([id]) => `id=${id}`)].join('&');
      const { body } = await remote(everything, 'listTokens', { query });
      const listed = (body['data'] ?? []) as readonly { readonly id: string; readonly data: unknown }[];
      const found = new Map(listed.map(({ id, data }) => [id, data]));
      for (const [id, data] of asked) if (found.get(id) !== data) lost += 1;
    });
    return lost;
  }
  const times = { readP99Before, readP99During, readsDuring, rotationMs };
  return { figures: { killed, acknowledged: written.size, ...load.refusals(), ...times }, countLost };
}

/** The range of times to kill a rotation at, as parts of the time of a whole rotation, which differs by machine. */
const KILL_AT = [0.3, 0.9] as const;
/** The maximum number of rotations to start for each kill, because some end before. */
const MAX_STARTS = 5;

/** Kills rotations before they end. Rejects if the first one, which nothing kills, fails. */
export async function killRotations(
  rotate: (...flags: readonly string[]) => ChildProcess,
  { kills, random }: { readonly kills: number; readonly random: () => number },
): Promise<number> {
  const started = performance.now();
  const [code] = await once(rotate(), 'exit');
  if (code !== 0) throw new Error(`the rotation that measures the time ended with ${code}`);
  const wholeMs = performance.now() - started;
  const [least, most] = KILL_AT;
  let killed = 0;
  for (let run = 0; killed < kills && run < MAX_STARTS * kills; run += 1) {
    const child = rotate(...(run % 2 === 0 ? [] : ['--indexes']), ...(run % 5 === 2 ? ['--master'] : []));
    const ended = once(child, 'exit');
    await Promise.race([sleep(wholeMs * (least + random() * (most - least))), ended]);
    child.kill('SIGKILL');
    await ended;
    if (child.signalCode === 'SIGKILL') killed += 1;
  }
  return killed;
}
