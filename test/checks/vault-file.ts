import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVaultAt, type VaultLocation } from '../../src/vault/location.ts';
import { createVault, type Vault } from '../../src/vault/vault.ts';
import { createCaller, EVERYTHING, type Perform } from './perform.ts';

export interface VaultFile {
  readonly file: string;
  readonly keyFile: string;
  readonly credential: { readonly kind: 'key_file'; readonly key: Uint8Array };
  readonly management: string;
  readonly everything: string;
}

export async function makeVaultFile(folder: string): Promise<VaultFile> {
  const file = join(folder, 'vault.db');
  const keyFile = `${file}.key`;
  const credential = { kind: 'key_file', key: randomBytes(32) } as const;
  writeFileSync(keyFile, credential.key, { mode: 0o600 });
  const { vault, application } = await createVault({ file, credential, tenantName: 'default' });
  const management = application.key ?? '';
  const client = directClient(vault);
  const body = { ...EVERYTHING, can_create_expiring_applications: true };
  const { status, body: made } = await createCaller(() => client)(management, 'createApplication', { body });
  await client.close();
  if (status !== 201) throw new Error(`the application was answered ${status}`);
  return { file, keyFile, credential, management, everything: String(made['key']) };
}

export type OpenOptions = VaultLocation & { readonly credential: Credential; readonly anchor?: string | undefined };

/** Opens a vault in this process while `work` runs. Discards the errors that callers do not see. */
export async function withVault<T>(
  { credential, anchor, ...location }: OpenOptions,
  work: (perform: Perform, vault: Vault) => Promise<T>,
): Promise<T> {
  const vault = await openVaultAt(location, { credential, anchor, reportError: () => undefined });
  try {
    const client = directClient(vault);
    const perform = createCaller(() => client);
    return await work(perform, vault);
  } finally {
    await vault.close();
  }
}

interface ListedToken {
  readonly id: string;
  readonly data: unknown;
  readonly metadata: unknown;
}

/** Returns all tokens that the key reads, by id. Rejects when a page is not answered with 200. */
export async function readTokens(perform: Perform, key: string): Promise<ReadonlyMap<string, ListedToken>> {
  const tokens = new Map<string, ListedToken>();
  for (let page = 1; ; page += 1) {
    const { status, body } = await perform(key, 'listTokens', { query: `size=100&page=${page}` });
    if (status !== 200) throw new Error(`the list was answered ${status}`);
    const { data, pagination } = body as {
      readonly data: readonly ListedToken[];
      readonly pagination: { readonly total_pages: number };
    };
    for (const token of data) tokens.set(token.id, token);
    if (page >= pagination.total_pages) return tokens;
  }
}
