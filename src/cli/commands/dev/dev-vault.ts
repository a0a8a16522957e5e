import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseText } from '../../../client/decode-problem.ts';
import { PERMISSIONS, type Permission } from '../../../contract/permissions.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import { type DevClock, devClock, movableClock } from '../../../vault/dev-clock.ts';
import type { Vault, VaultSettings } from '../../../vault/vault.ts';
import { type Credential, KEY_BYTES, keyFileBeside, readKeyFile } from '../../credential.ts';
import { filePath } from '../../output-path.ts';
import { readSecretFile } from '../../secret-file.ts';
import { writeWholeFile } from '../../whole-file.ts';
import { provideKeyFile } from '../keys/new-credential.ts';
import { makeTemporaryFolder, removeFolder } from './temporary-folder.ts';

/** The facts that a first-time user needs. */
export interface DevKeys {
  readonly tenant_id: string;
  /** All management permissions. */
  readonly management_key: string;
  /** All token permissions, through a rule on `/` with `reveal`. */
  readonly private_key: string;
}

export interface DevVault {
  readonly vault: Vault;
  readonly keys: DevKeys;
  readonly clock: DevClock;
  /** Back to how it was at its start, with the same keys. Absent of a vault that is kept. */
  readonly reset?: () => Promise<void>;
  /** From here on `reset` goes back to what the vault holds now. Absent of a vault that is kept. */
  readonly keepAsStart?: () => Promise<void>;
}

/** A vault before its clock is handed out. */
type MadeVault = Pick<DevVault, 'vault' | 'keys'>;

/** A vault that disappears when it is closed or the process exits; its key was never on a disk. */
export async function temporaryDevVault(settings: VaultSettings): Promise<DevVault> {
  const folder = makeTemporaryFolder('dev');
  const remove = () => removeFolder(folder);
  process.on('exit', remove);
  const key = new Uint8Array(randomBytes(KEY_BYTES));
  const [file, start] = [path.join(folder, 'vault.db'), path.join(folder, 'start.db')];
  const clock = movableClock();
  const all = { ...settings, clock };
  const made = await makeDevVault(file, { kind: 'key_file', key: key.slice() }, all, async () => undefined);
  // Closed while it is copied: SQLite's locks do not outlive another reader of the file in the same process.
  await made.vault.close();
  await copyFile(file, start);
  const [{ openVault }, { resettableVault }] = await Promise.all([
    import('../../../vault/vault.ts'),
    import('../../../vault/resettable.ts'),
  ]);
  const open = () => openVault({ file, credential: { kind: 'key_file', key: key.slice() }, ...all });
  const { vault, reopen } = resettableVault(await open(), open);
  const close = async () => {
    await vault.close();
    process.off('exit', remove);
    remove();
  };
  return {
    vault: { ...vault, close },
    keys: made.keys,
    clock: devClock(clock, vault.sweep),
    reset: () => reopen(() => copyFile(start, file)),
    keepAsStart: () => reopen(() => copyFile(file, start)),
  };
}

/** A vault that is made on first use and kept, with its key and its two API keys in files next to it. */
export async function keptDevVault(file: string, settings: VaultSettings): Promise<DevVault> {
  const clock = movableClock();
  const made = await keptVault(file, { ...settings, clock });
  return { ...made, clock: devClock(clock, made.vault.sweep) };
}

async function keptVault(file: string, settings: VaultSettings): Promise<MadeVault> {
  const keysFile = `${file}.dev.json`;
  if (existsSync(file)) {
    const keys = await readKeys(file, keysFile);
    const { openVault } = await import('../../../vault/vault.ts');
    const credential = await readKeyFile(keyFileBeside(file));
    return { vault: await openVault({ file, credential, ...settings }), keys };
  }
  filePath('--file', file);
  // These belong to an existing vault. Later they could belong to another command that makes this vault, too.
  await rm(keysFile, { force: true });
  const { credential, undo } = await provideKeyFile(keyFileBeside(file));
  try {
    return await makeDevVault(file, credential, settings, (keys) =>
      writeWholeFile('--file', keysFile, `${JSON.stringify(keys)}\n`),
    );
  } catch (error) {
    // Such a command may have taken the key file that this one made.
    if (!existsSync(file)) await undo();
    throw error;
  }
}

/** The vault, its application and what `keep` does, or nothing of it. */
async function makeDevVault(
  file: string,
  credential: Credential,
  settings: VaultSettings,
  keep: (keys: DevKeys) => Promise<void>,
): Promise<MadeVault> {
  const { createVault } = await import('../../../vault/vault.ts');
  const { vault, tenant, application } = await createVault({ file, credential, tenantName: 'dev', ...settings });
  try {
    const management_key = application.key ?? '';
    const private_key = await createPrivateKey(vault, management_key);
    const keys = { tenant_id: tenant.id, management_key, private_key };
    await keep(keys);
    return { vault, keys };
  } catch (error) {
    await vault.close();
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
    throw error;
  }
}

/** Uses the API, as any client would. */
async function createPrivateKey(vault: Vault, apiKey: string): Promise<string> {
  const permissions = (Object.keys(PERMISSIONS) as Permission[]).filter((name) => name.startsWith('token:'));
  const rule = { description: 'everything', priority: 1, container: '/', transform: 'reveal', permissions };
  const reply = await vault.dispatch({
    operation: 'createApplication',
    apiKey,
    mediaType: 'application/json',
    params: {},
    query: [],
    bodyText: JSON.stringify({ name: 'private', type: 'private', rules: [rule] }),
  });
  if (reply.status !== 201) throw new Problem('internal_error');
  return (JSON.parse(reply.bodyText ?? '') as { readonly key: string }).key;
}

async function readKeys(file: string, keysFile: string): Promise<DevKeys> {
  const text = existsSync(keysFile) ? (await readSecretFile('--file', keysFile)).toString('utf8') : undefined;
  const keys = parseText(text ?? '');
  if (isDevKeys(keys)) return keys;
  if (text !== undefined) {
    throw new Fault('usage', `${keysFile} is damaged: it does not hold the API keys of ${file}`, {
      hint: 'serve the vault without --dev, or name another file',
    });
  }
  throw new Fault('usage', `${file} was not made by \`vault serve --dev\``, {
    hint: 'serve it without --dev, or name another file',
  });
}

function isDevKeys(value: unknown): value is DevKeys {
  const members: Readonly<Record<string, unknown>> = { ...(value as object | null | undefined) };
  return ['tenant_id', 'management_key', 'private_key'].every((name) => typeof members[name] === 'string');
}
