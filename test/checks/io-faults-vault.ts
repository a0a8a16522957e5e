import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { ENVIRONMENT, VAULT_BIN } from './daemon-process.ts';
import { makeVaultFile, type OpenOptions, readTokens, type VaultFile, withVault } from './vault-file.ts';

/** A vault with the snapshot `before`. Tokens were changed, removed and added after it. */
export interface IoFaultVault extends VaultFile {
  readonly folder: string;
  /** The file names in the folder while the vault is closed. */
  readonly files: readonly string[];
  /** The result of `tokensOf` for this vault. */
  readonly tokens: string;
}

const TOKENS = 6;

export async function makeIoFaultVault(folder: string): Promise<IoFaultVault> {
  const vault = await makeVaultFile(folder);
  const { file, everything } = vault;
  const body = (id: string) => ({ id, type: 'token', data: { of: id }, metadata: { of: id } });
  await withVault(vault, async (perform) => {
    for (let n = 0; n < TOKENS; n += 1) await perform(everything, 'createToken', { body: body(`token-${n}`) });
  });
  // The file that `vault serve --dev` creates.
  writeFileSync(`${file}.dev.json`, '{}');
  const save = [VAULT_BIN, 'dev', 'snapshot', 'save', 'before', '--file', file];
  await promisify(execFile)(process.execPath, save, { env: ENVIRONMENT });
  await withVault(vault, async (perform) => {
    await perform(everything, 'updateToken', { id: 'token-0', body: { data: { of: 'after' } } });
    await perform(everything, 'deleteToken', { id: 'token-1' });
    await perform(everything, 'createToken', { body: body('token-late') });
  });
  return { ...vault, folder, files: readdirSync(folder), tokens: await tokensOf(vault) };
}

/** Returns all tokens with their contents as one text. Rejects when the vault does not open. */
export async function tokensOf({ everything, ...vault }: OpenOptions & Pick<VaultFile, 'everything'>): Promise<string> {
  const tokens = await withVault(vault, (perform) => readTokens(perform, everything));
  return JSON.stringify([...tokens].map(([id, { data, metadata }]) => [id, data, metadata]).sort());
}
