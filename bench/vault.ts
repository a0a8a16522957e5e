import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { BIN, bareEnvironment, type Environment, run, vault } from '../scripts/run-vault.ts';
import { sample } from './figures.ts';
import { type RequestParts, requestBytes } from './load.ts';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };

/** The number of tokens per customer: a page of the default size. */
const TOKENS_PER_CUSTOMER = 20;

/** The number of different requests per case, more than a small cache holds. */
export const DIFFERENT = 8192;

/** A file system in memory. It is used if it has enough room. */
const MEMORY = '/dev/shm';
const MEMORY_NEEDED = 512 * 1024 ** 2;

const JSON_BODY = { 'content-type': 'application/json' };
const PATCH_BODY = { 'content-type': 'application/merge-patch+json' };

const padded = (number: number) => String(number).padStart(8, '0');
const customer = (number: number) => `customer-${padded(number)}`;

/** Returns the body of a create request: a card with its defaults and two members of metadata. */
export function cardBody(n: number): string {
  const metadata = { customer: customer(Math.floor(n / TOKENS_PER_CUSTOMER)), order: `order-${padded(n)}` };
  return JSON.stringify({ type: 'card', data: CARD, metadata });
}

/** An application of the vault: each presents tokens in its own way. The key of `wrong` is of a deleted one. */
type Caller = 'management' | 'reveal' | 'mask' | 'deny' | 'wrong';

/** A vault for measurements. `env` selects it but contains no API key. */
export interface BenchVault {
  readonly file: string;
  readonly env: Environment;
  readonly keys: Readonly<Record<Caller, string>>;
}

/** Creates a vault with one application for each way to present a token, in a file or in the database `store`. */
export async function makeBenchVault(folder: string, bare: Environment, store?: string): Promise<BenchVault> {
  const file = path.join(folder, 'vault.db');
  const place = store === undefined ? { VAULT_FILE: file } : { VAULT_STORE: store, VAULT_KEY_FILE: `${file}.key` };
  const env = { ...bare, ...place };
  const { application }: { readonly application: { readonly key: string } } = await vault(['init'], env);
  const manage = { ...env, VAULT_API_KEY: application.key };
  const make = (name: string, rule: string): Promise<{ readonly id: string; readonly key: string }> =>
    vault(['apps', 'create', '--name', name, '--type', 'private', '--rule', rule], manage);
  const all = 'permissions=token:read,token:create,token:update,token:delete,token:use';
  const reveal = await make('reveal', `container=/ transform=reveal ${all}`);
  const mask = await make('mask', 'container=/ transform=mask permissions=token:read');
  const deny = await make('deny', 'container=/elsewhere/ transform=mask permissions=token:read');
  const gone = await make('gone', 'container=/ transform=mask permissions=token:read');
  await run([BIN, 'apps', 'delete', gone.id, '--yes'], manage);
  const keys = { management: application.key, reveal: reveal.key, mask: mask.key, deny: deny.key, wrong: gone.key };
  return { file, env, keys };
}

/** Writes a file of cards for `vault import`, one request body per line. */
export async function writeCardLines(file: string, count: number): Promise<void> {
  function* lines() {
    for (let n = 0; n < count; n += 1) yield `${cardBody(n)}\n`;
  }
  await writeFile(file, lines());
}

/** Imports `count` cards with `vault import`; resolves to the seconds of the whole command. */
export async function importCards({ file, env, keys }: BenchVault, count: number): Promise<number> {
  const lines = `${file}.ndjson`;
  await writeCardLines(lines, count);
  const started = performance.now();
  await run([BIN, 'import', lines], { ...env, VAULT_API_KEY: keys.reveal });
  const seconds = (performance.now() - started) / 1000;
  await rm(lines);
  return seconds;
}

export type BenchRequests = ReturnType<typeof benchRequests>;

/** Returns functions that make requests with a vault's keys. `host` is the host name that the daemon accepts. */
export function benchRequests(keys: BenchVault['keys'], host: string) {
  const request = (who: Caller, method: string, path: string, parts: Pick<RequestParts, 'headers' | 'body'> = {}) =>
    requestBytes({ method, path, ...parts, headers: { 'svc-api-key': keys[who], ...parts.headers } }, host);
  return {
    get: (who: Caller, id: string) => request(who, 'GET', `/tokens/${id}`),
    list: () => request('reveal', 'GET', '/tokens?size=20'),
    /** Lists tokens by one metadata value, for customers from the whole vault. */
    byCustomer: (tokens: number) => {
      const customers = Array.from({ length: Math.floor(tokens / TOKENS_PER_CUSTOMER) }, (_, number) => number);
      const numbers = sample(customers, DIFFERENT);
      return numbers.map((number) => request('reveal', 'GET', `/tokens?metadata.customer=${customer(number)}`));
    },
    history: (id: string) => request('management', 'GET', `/logs?entity_type=token&entity_id=${id}`),
    usage: () => request('management', 'GET', '/tenants/self/reports/usage'),
    tokenize: (n: number, count: number) => {
      const body = `[${Array.from({ length: count }, (_, at) => cardBody(n + at)).join(',')}]`;
      return request('reveal', 'POST', '/tokenize', { headers: JSON_BODY, body });
    },
    detokenize: (ids: readonly string[]) => {
      const body = JSON.stringify(ids.map((id) => `{{ ${id} }}`));
      return request('reveal', 'POST', '/detokenize', { headers: JSON_BODY, body });
    },
    create: (n: number) => request('reveal', 'POST', '/tokens', { headers: JSON_BODY, body: cardBody(n) }),
    patch: (id: string, n: number) => {
      const body = JSON.stringify({ metadata: { order: `patched-${padded(n)}` } });
      return request('reveal', 'PATCH', `/tokens/${id}`, { headers: PATCH_BODY, body });
    },
    delete: (id: string) => request('reveal', 'DELETE', `/tokens/${id}`),
  };
}

/** Runs `work` in a temporary folder; `bare` is the environment of its commands. */
export async function withFolder<T>(
  work: (folder: string, bare: Environment) => Promise<T>,
  parent = os.tmpdir(),
): Promise<T> {
  const folder = await mkdtemp(path.join(parent, 'vault-bench-'));
  try {
    return await work(folder, bareEnvironment(folder));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns a folder in memory, or undefined when there is none with enough room. */
export async function folderInMemory(): Promise<string | undefined> {
  const space = await statfs(MEMORY).catch(() => undefined);
  return space !== undefined && space.bavail * space.bsize >= MEMORY_NEEDED ? MEMORY : undefined;
}
