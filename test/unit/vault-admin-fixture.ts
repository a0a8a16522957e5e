import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import type { OperationId } from '../../src/contract/operations.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { createVault, openFileVault, type Vault } from '../../src/vault/vault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

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
    readonly peer?: string;
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
    peer: parts.peer,
  });
  return { status: reply.status, body: JSON.parse(reply.bodyText ?? 'null') as never, replayed: reply.replayed };
}

/** Creates a closed vault with this number of tokens: `token-0`, `token-1`, … with their number as data. */
export async function fileVault(tokens: number): Promise<FileVault> {
  const folder = temporaryFolder(onTestFinished);
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

type VaultOptions = Omit<Parameters<typeof openFileVault>[0], 'file' | 'credential'>;

/** Opens a vault. Closes it after the test. */
export async function openedVault(file: string, options?: VaultOptions): Promise<Vault> {
  const vault = await openFileVault({ file, credential: CREDENTIAL, reportError: () => undefined, ...options });
  onTestFinished(() => vault.close().catch(() => undefined));
  return vault;
}

/** Opens the file of a vault as commands of the key holder do. Closes it after the test. */
export async function openedForKeyHolder(file: string) {
  const holder = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  onTestFinished(() => holder.close());
  return holder;
}

export async function withVault<T>(file: string, use: (vault: Vault) => Promise<T>, anchor?: string): Promise<T> {
  const vault = await openFileVault({ file, credential: CREDENTIAL, anchor, reportError: () => undefined });
  return use(vault).finally(vault.close);
}

type CallOf = Parameters<typeof callVault> extends [unknown, ...infer Rest] ? Rest : never;

/** Opens a vault for one call. */
export const callOnce = ({ file }: Pick<FileVault, 'file'>, ...call: CallOf): Promise<Answer> =>
  withVault(file, (vault) => callVault(vault, ...call));

type Admin = Awaited<ReturnType<typeof openVaultAdmin>>;

export async function withAdmin<T>(file: string, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  return use(admin).finally(admin.close);
}

type DoctorOptions = Pick<Parameters<typeof checkVaultFile>[0], 'anchor' | 'archives' | 'times'>;

export const doctor = (file: string, options?: DoctorOptions) =>
  checkVaultFile({ file, credential: CREDENTIAL, ...options });

export const archiveIn = ({ folder }: Pick<FileVault, 'folder'>, name = 'old') =>
  archiveFile('--archive', join(folder, name));

/** Moves all entries of the audit into an archive. */
export const prune = (vault: Pick<FileVault, 'file' | 'folder'>, name?: string, before = Date.now() + 60_000) =>
  withAdmin(vault.file, (admin) => admin.pruneAudit(before, archiveIn(vault, name)));

/** Creates a private application that may do everything with tokens. */
export async function newApplication(
  vault: Vault,
  management: string,
  over: object = { rules: [RULE] },
): Promise<{ readonly id: string; readonly key: string }> {
  const body = { name: 'b', type: 'private', ...over };
  return (await callVault(vault, management, 'createApplication', { body })).body;
}

/** Resolves to the id of the newest API key of an application. */
export async function keyIdOf(vault: Vault, management: string, id: string): Promise<string> {
  const { body } = await callVault(vault, management, 'listApplicationKeys', { id });
  return Object(body)[0]?.id ?? '';
}

/** The bytes of a UUID, as a file has them. */
export const bytesOf = (uuid: string) => Buffer.from(uuid.replaceAll('-', ''), 'hex');
