import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel, type Perform, percentile } from './perform.ts';
import { killRotations } from './rotation-kills.ts';

const WRITERS = 3;
const READERS = 2;
const CALLERS = 32;
/** The number of tokens that one call reads back. */
const PAGE = 100;

/**
 * Starts writers and readers. Each writer creates or changes its own tokens and reads them back. The readers read any
 * token. `written` must contain the tokens `rotated-0`, `rotated-1`, … with their data.
 */
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
    /** Returns the number of calls that failed or returned wrong data, and the first of these. */
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

/** A served vault whose keys are rotated. */
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
  /** Runs the last rotations, which nothing kills. */
  readonly finish: () => Promise<void>;
}

/**
 * Rotates keys while callers write and read, kills rotations at random moments, and lets the last ones finish. Resolves to
 * the figures, and to a function that counts the acknowledged writes which are missing.
 */
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
