import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { createVault, openFileVault, type Vault } from '../../src/vault/vault.ts';

export const CREDENTIAL: Credential = { kind: 'key_file', key: new Uint8Array(32).fill(7) };

/** Grants everything with tokens. */
export const RULE = {
  description: 'all',
  priority: 1,
  container: '/',
  transform: 'reveal',
  permissions: ['token:create', 'token:read', 'token:update', 'token:delete'],
};

/** A vault file of a test, with an application that may do everything with tokens. */
export interface FileVault {
  readonly folder: string;
  readonly file: string;
  readonly tenantId: string;
  readonly management: string;
  readonly apiKey: string;
}

export interface Answer {
  readonly status: number;
  readonly body: never;
  readonly replayed?: true | undefined;
}

export async function callVault(
  vault: Vault,
  apiKey: string,
  operation: OperationId,
  parts: {
    readonly id?: string;
    /** All path parameters. Default: `id`. */
    readonly params?: Readonly<Record<string, string>>;
    readonly body?: object;
    readonly query?: readonly [string, string][];
    readonly idempotencyKey?: string;
  } = {},
): Promise<Answer> {
  const reply = await vault.dispatch({
    operation,
    apiKey,
    mediaType: operation === 'updateToken' ? 'application/merge-patch+json' : 'application/json',
    params: parts.params ?? (parts.id === undefined ? {} : { id: parts.id }),
    query: parts.query ?? [],
    bodyText: parts.body && JSON.stringify(parts.body),
    idempotencyKey: parts.idempotencyKey,
  });
  return { status: reply.status, body: JSON.parse(reply.bodyText ?? 'null') as never, replayed: reply.replayed };
}

/** Creates a closed vault with this number of tokens: `token-0`, `token-1`, … with their number as data. */
export async function fileVault(tokens: number): Promise<FileVault> {
  const folder = await mkdtemp(join(tmpdir(), 'vault-admin-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'vault.db');
  const { vault, tenant, application } = await createVault({ file, credential: CREDENTIAL, tenantName: 'test' });
  const management = application.key ?? '';
  const made = await callVault(vault, management, 'createApplication', {
    body: { name: 'a', type: 'private', rules: [RULE] },
  });
  const apiKey: string = made.body['key'];
  const create = (n: number) =>
    callVault(vault, apiKey, 'createToken', {
      body: { id: `token-${n}`, type: 'token', data: n, mask: '{{ data }}', metadata: { tag: `tag ${n}` } },
    });
  // Calls at the same time have no order, and tests expect the last token to be the last change.
  await Promise.all(Array.from({ length: Math.max(0, tokens - 1) }, (_, n) => create(n)));
  if (tokens > 0) await create(tokens - 1);
  await vault.close();
  return { folder, file, tenantId: tenant.id, management, apiKey };
}

export async function withVault<T>(file: string, use: (vault: Vault) => Promise<T>, anchor?: string): Promise<T> {
  const vault = await openFileVault({ file, credential: CREDENTIAL, anchor });
  try {
    return await use(vault);
  } finally {
    await vault.close();
  }
}
