import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import { createVault, openFileVault } from '../../src/vault/vault.ts';
import { createCaller, EVERYTHING, type Perform } from './perform.ts';

/** A closed vault file and its keys. */
export interface VaultFile {
  readonly file: string;
  readonly keyFile: string;
  readonly credential: { readonly kind: 'key_file'; readonly key: Uint8Array };
  /** The key of a private application with all token permissions and `reveal` on everything. */
  readonly everything: string;
}

/** Creates `vault.db` and its key file in `folder`. */
export async function makeVaultFile(folder: string): Promise<VaultFile> {
  const file = join(folder, 'vault.db');
  const keyFile = `${file}.key`;
  const credential = { kind: 'key_file', key: randomBytes(32) } as const;
  writeFileSync(keyFile, credential.key, { mode: 0o600 });
  const { vault, application } = await createVault({ file, credential, tenantName: 'default' });
  const client = directClient(vault);
  const perform = createCaller(() => client);
  const { status, body: made } = await perform(application.key ?? '', 'createApplication', { body: EVERYTHING });
  await client.close();
  if (status !== 201) throw new Error(`the application was answered ${status}`);
  return { file, keyFile, credential, everything: String(made['key']) };
}

export interface OpenOptions extends Pick<VaultFile, 'file' | 'credential'> {
  readonly anchor?: string;
}

/** Opens the file in this process while `work` runs. Discards the errors that callers do not see. */
export async function withVault<T>(
  { file, credential, anchor }: OpenOptions,
  work: (perform: Perform) => Promise<T>,
): Promise<T> {
  const client = directClient(await openFileVault({ file, credential, anchor, reportError: () => undefined }));
  try {
    return await work(createCaller(() => client));
  } finally {
    await client.close();
  }
}

export interface ListedToken {
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
