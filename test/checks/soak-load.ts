import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure } from './check.ts';
import { seededNumbers } from './perform.ts';
import type { ServedVault } from './served-vault.ts';

/** The maximum number of tokens of a worker: a growing file would look like a leak. */
const MAX_OWN = 100;
const EXPECTED = { createToken: 201, getToken: 200, listTokens: 200, updateToken: 200, deleteToken: 204 } as const;
type LoadOperation = keyof typeof EXPECTED;

export type LoadReport = ReturnType<typeof createLoadReport>;

/** Creates a report. `lost` counts the tokens without the last version that was answered. */
export function createLoadReport() {
  const counts = { createToken: 0, getToken: 0, listTokens: 0, updateToken: 0, deleteToken: 0 };
  return { counts, expiring: 0, lost: 0, errors: 0, firstError: undefined as string | undefined };
}

export const callsOf = ({ counts }: LoadReport): number => Object.values(counts).reduce((sum, count) => sum + count, 0);

interface WorkerOptions {
  readonly seed: number;
  readonly name: string;
  readonly everyMs: number;
  readonly ended: () => boolean;
  readonly now: () => number;
  /** The shortest lifetime of a token that expires, in milliseconds of that clock. The longest is 11 times as long. */
  readonly lifetime: number;
}

/** Uses the worker's own tokens, a quarter of which expire. Reads the others at the end. */
export async function soakWorker(
  vault: ServedVault,
  report: LoadReport,
  { seed, name, everyMs, ended, now, lifetime }: WorkerOptions,
): Promise<void> {
  const random = seededNumbers(seed);
  const own: string[] = [];
  const versions = new Map<string, number>();
  let count = 0;

  async function send(operation: LoadOperation, parts: object): Promise<boolean> {
    try {
      const { status, text } = await vault.remote(vault.everything, operation, parts);
      if (status !== EXPECTED[operation]) throw new CheckFailure(`${operation} was answered ${status} ${text}`);
      report.counts[operation]++;
      return true;
    } catch (error) {
      report.errors++;
      report.firstError ??= String(error);
      return false;
    }
  }

  async function isKept(id: string): Promise<boolean> {
    const { status, text } = await vault.remote(vault.everything, 'getToken', { id });
    return status === 200 && JSON.parse(text).data.version === versions.get(id);
  }

  async function create(): Promise<void> {
    const id = `${name}-${count++}`;
    const data = { version: count, filling: 'x'.repeat(Math.floor(random() * 1_500)) };
    const body = { id, type: 'token', data, metadata: { worker: name, turn: String(count % 10) } };
    if (random() < 0.25) {
      const expires_at = new Date(now() + lifetime * (1 + random() * 10)).toISOString();
      report.expiring++;
      await send('createToken', { body: { ...body, expires_at } });
      return;
    }
    if (!(await send('createToken', { body }))) return;
    own.push(id);
    versions.set(id, count);
  }

  for (let due = performance.now(); !ended(); due = Math.max(due + everyMs, performance.now())) {
    await sleep(Math.max(0, due - performance.now()));
    const kind = random();
    const id = own[Math.floor(random() * own.length)];
    if (id === undefined || (kind < 0.3 && own.length < MAX_OWN)) await create();
    else if (kind < 0.55) await send('getToken', { id });
    else if (kind < 0.65) await send('listTokens', { query: `size=20&metadata.worker=${name}` });
    else if (kind < 0.8) {
      const version = ++count;
      const body = { data: { version, patched: random() } };
      if (await send('updateToken', { id, body })) versions.set(id, version);
    } else {
      own.splice(own.indexOf(id), 1);
      await send('deleteToken', { id });
    }
  }
  for (const id of own) if (!(await isKept(id))) report.lost++;
}
