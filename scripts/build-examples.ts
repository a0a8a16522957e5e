/** Sends the example requests of the OpenAPI document to a new vault, and adds their results. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pairsOf } from '../src/client/check-request.ts';
import type { Example, ExampleRequest } from '../src/contract/openapi/openapi.ts';
import { OPERATIONS, type Operation, type OperationId } from '../src/contract/operations.ts';
import { createVault, type Vault } from '../src/vault/vault.ts';
import { ROOT, writeIfChanged } from './build-output.ts';
import { EXAMPLE_REQUESTS } from './example-requests.ts';

const MINUTE_MS = 60_000;
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

type Results = Partial<Record<OperationId, Record<string, Example>>>;

/** Returns bytes that depend only on a text, so that equal sources make equal documents. */
const digestOf = (text: string) => createHash('sha512').update(text).digest();

let drawn = 0;
const bytes = (length: number) => new Uint8Array(digestOf(`example ${drawn++}`).subarray(0, length));

function uuid(version: 4 | 7, head: string): string {
  const hex = head + Buffer.from(bytes(16)).toString('hex').slice(head.length);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    version + hex.slice(13, 16),
    `8${hex.slice(17, 20)}`,
    hex.slice(20),
  ];
  return parts.join('-');
}

let instant = Date.UTC(2026, 2, 1, 9, 30);
const now = () => instant;

/** Returns a value in which the references to earlier results are resolved. */
function resolve(value: unknown, results: Results): unknown {
  if (typeof value === 'string' && /^\$\w+(\.\w+)+$/.test(value)) {
    const [operation, name = '', ...members] = value.slice(1).split('.');
    const { result } = results[operation as OperationId]?.[name] ?? {};
    return members.reduce<unknown>((at, member) => Object(at)[member], result);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => resolve(item, results));
  return Object.fromEntries(Object.entries(value).map(([member, item]) => [member, resolve(item, results)]));
}

/** Sends a request. Resolves to the example with its result. */
async function play(vault: Vault, apiKey: string, operation: OperationId, request: ExampleRequest): Promise<Example> {
  const row: Operation = OPERATIONS[operation];
  const { params = {}, query, body } = request;
  const sent = { operation, apiKey, params, query: pairsOf(operation, row, query) };
  const { status, bodyText } = await vault.dispatch(
    body === undefined
      ? sent
      : { ...sent, mediaType: row.mediaType ?? 'application/json', bodyText: JSON.stringify(body) },
  );
  if (status !== row.status) throw new Error(`build-examples: ${operation} returns ${status}: ${bodyText}`);
  return { ...request, ...(bodyText !== undefined && { result: JSON.parse(bodyText) }) };
}

/** Resolves to all examples. */
async function playAll(file: string): Promise<Results> {
  const credential = { kind: 'key_file', key: bytes(32) } as const;
  const clock = { now, cutoff: now, settled: now };
  const overRandom = () => ({
    bytes,
    id: () => uuid(4, ''),
    timeOrderedId: () => uuid(7, instant.toString(16).padStart(12, '0')),
  });
  const { vault } = await createVault({ file, credential, tenantName: 'first', clock, overRandom });
  const { application } = await vault.createTenant('production');
  const results: Results = {};
  let tokenKey = '';
  for (const [id, requests] of Object.entries(EXAMPLE_REQUESTS)) {
    const operation = id as OperationId;
    const { permission }: Operation = OPERATIONS[operation];
    const played: Record<string, Example> = {};
    results[operation] = played;
    for (const [name, request] of Object.entries(requests)) {
      instant += MINUTE_MS;
      const apiKey = permission?.startsWith('token:') ? tokenKey : (application.key ?? '');
      const example = await play(vault, apiKey, operation, resolve(request, results) as ExampleRequest);
      played[name] = example;
      if (tokenKey === '') tokenKey = Object(example.result).key;
    }
  }
  await vault.close();
  return results;
}

/**
 * Returns JSON without secrets: API keys get a wrong checksum, so that secret scanners do not report them, and
 * fingerprints, which depend on random keys, become texts that are the same in every build.
 */
function printed(results: Results): string {
  const made = new Map<string, string>();
  const seen = { key: 0, fingerprint: 0 };
  const makers: Readonly<Record<string, () => string>> = {
    key: () => `key_ExampLeKeyNotReaL11111111111111${'ABCDEFGH'[seen.key++]}`,
    fingerprint: () =>
      [...digestOf(`fingerprint ${seen.fingerprint++}`).subarray(0, 44)].map((byte) => BASE58[byte % 58]).join(''),
  };
  return JSON.stringify(
    results,
    (name, value: unknown) => {
      const make = makers[name];
      if (make === undefined || typeof value !== 'string') return value;
      if (!made.has(value)) made.set(value, make());
      return made.get(value);
    },
    2,
  );
}

const folder = mkdtempSync(path.join(tmpdir(), 'token-vault-examples-'));
try {
  const text = printed(await playAll(path.join(folder, 'vault.db')));
  const source = `// Made by scripts/build-examples.ts. Do not edit.
import type { Examples } from './openapi.ts';

export const EXAMPLES: Examples = ${text};
`;
  writeIfChanged(path.join(ROOT, 'src/contract/openapi/examples.generated.ts'), source);
} finally {
  rmSync(folder, { recursive: true });
}
