import { percentile } from './perform.ts';
import type { ServedVault } from './served-vault.ts';

const WRITERS = 3;
const READERS = 2;

/** Callers that write and read through the daemon until `stop`. */
export interface RotationLoad {
  /** The acknowledged data of each token, by id. */
  readonly written: ReadonlyMap<string, number>;
  /** Returns the number of calls that failed or returned wrong data. */
  refused(): number;
  /** Returns the first failure, or an empty text. */
  firstRefusal(): string;
  /** Returns the number of reads since the last call, and their 99th percentile in milliseconds. */
  readsSince(): { readonly p99: number; readonly reads: number };
  stop(): Promise<void>;
}

/**
 * Starts writers and readers. Each writer creates or changes its own tokens and reads them back. The readers read any
 * token. `written` must contain the tokens `rotated-0`, `rotated-1`, … with their data.
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
