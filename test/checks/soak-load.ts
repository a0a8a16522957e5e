import { setTimeout as sleep } from 'node:timers/promises';
import { CheckFailure } from './check.ts';
import { seededNumbers } from './perform.ts';
import type { ServedVault } from './served-vault.ts';

/**
 * The maximum number of tokens that each worker keeps. Without a limit the file would grow, which looks like a leak.
 */
const MAX_OWN = 100;
/** The minimum time between two calls of a worker, in milliseconds. A soak is a load and not a race. */
const EVERY_MS = 28;

export type LoadOperation = 'createToken' | 'getToken' | 'listTokens' | 'updateToken' | 'deleteToken';

/** The expected status of each operation. */
const EXPECTED: Readonly<Record<LoadOperation, number>> = {
  createToken: 201,
  getToken: 200,
  listTokens: 200,
  updateToken: 200,
  deleteToken: 204,
};

/** The number of calls and errors, and the first error. */
export interface LoadLedger {
  readonly counts: Record<LoadOperation, number>;
  expiring: number;
  errors: number;
  firstError: string | undefined;
}

export function createLoadLedger(): LoadLedger {
  const counts = { createToken: 0, getToken: 0, listTokens: 0, updateToken: 0, deleteToken: 0 };
  return { counts, expiring: 0, errors: 0, firstError: undefined };
}

/**
 * Creates, reads, lists, patches and deletes the worker's own tokens. A quarter of its new tokens expire within
 * seconds.
 */
export async function soakWorker(
  vault: ServedVault,
  ledger: LoadLedger,
  { seed, name, ended }: { readonly seed: number; readonly name: string; readonly ended: () => boolean },
): Promise<void> {
  const random = seededNumbers(seed);
  const own: string[] = [];
  let count = 0;

  async function send(operation: LoadOperation, parts: object): Promise<void> {
    try {
      const { status, text } = await vault.remote(vault.everything, operation, parts);
      if (status !== EXPECTED[operation]) throw new CheckFailure(`${operation} was answered ${status} ${text}`);
      ledger.counts[operation]++;
    } catch (error) {
      ledger.errors++;
      ledger.firstError ??= String(error);
    }
  }

  async function create(): Promise<void> {
    const id = `${name}-${count++}`;
    const data = { version: count, filling: 'x'.repeat(Math.floor(random() * 1_500)) };
    const body = { id, type: 'token', data, metadata: { worker: name, turn: String(count % 10) } };
    if (random() < 0.25) {
      // The sweeper removes this token.
      const expires_at = new Date(Date.now() + 2_000 + random() * 20_000).toISOString();
      ledger.expiring++;
      return send('createToken', { body: { ...body, expires_at } });
    }
    await send('createToken', { body });
    own.push(id);
  }

  for (let due = performance.now(); !ended(); due = Math.max(due + EVERY_MS, performance.now())) {
    await sleep(Math.max(0, due - performance.now()));
    const kind = random();
    const id = own[Math.floor(random() * own.length)];
    if (id === undefined || (kind < 0.3 && own.length < MAX_OWN)) await create();
    else if (kind < 0.55) await send('getToken', { id });
    else if (kind < 0.65) await send('listTokens', { query: `size=20&metadata.worker=${name}` });
    else if (kind < 0.8) await send('updateToken', { id, body: { data: { version: count, patched: random() } } });
    else {
      own.splice(own.indexOf(id), 1);
      await send('deleteToken', { id });
    }
  }
}
