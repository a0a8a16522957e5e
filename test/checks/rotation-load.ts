import { percentile } from './perform.ts';
import type { ServedVault } from './served-vault.ts';

const WRITERS = 3;
const READERS = 2;

/** Callers of the daemon that write and read until they are told to stop. */
export interface RotationLoad {
  /** What is acknowledged of each token. */
  readonly written: ReadonlyMap<string, number>;
  /** Calls that were answered with anything but success, or with other data. */
  refused(): number;
  /** The first of them, by its status and text; empty when there was none. */
  firstRefusal(): string;
  /** The 99th percentile of a read, in milliseconds, since it was last asked for; and how many there were. */
  readsSince(): { readonly p99: number; readonly reads: number };
  stop(): Promise<void>;
}

/**
 * Each writer changes tokens that are its own, or makes new ones, and reads each back; the readers read any. `written` has
 * the tokens `rotated-0`, `rotated-1`, … with their numbers, which they change.
 */
export function startLoad(
  vault: Pick<ServedVault, 'remote' | 'everything'>,
  { written, random }: { readonly written: Map<string, number>; readonly random: () => number },
): RotationLoad {
  const { remote, everything } = vault;
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
    written,
    refused: () => refused,
    firstRefusal: () => firstRefusal,
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
