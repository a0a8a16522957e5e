import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { parseText } from '../../../client/decode-problem.ts';
import type { HolderCommands } from '../../../console/page-actions.ts';
import type { DevKeys } from '../../../contract/dev-paths.ts';
import { PERMISSIONS, type Permission } from '../../../contract/permissions.ts';
import { Fault } from '../../../core/fault.ts';
import { Problem } from '../../../core/problem.ts';
import type { Credential } from '../../../keyring/credential.ts';
import { atExit } from '../../../paths/at-exit.ts';
import { assertReplaceable } from '../../../paths/replaceable.ts';
import { type DevClock, devClock, type MovableClock, movableClock } from '../../../vault/clock/dev-clock.ts';
import type { VaultSnapshots } from '../../../vault/snapshots.ts';
import type { Vault, VaultSettings } from '../../../vault/vault.ts';
import { KEY_FILE_BYTES } from '../../credential/decode-key.ts';
import { keyFileBeside, readKeyFile } from '../../credential/read-credential.ts';
import { filePath } from '../../files/output-path.ts';
import { readSecretFile } from '../../files/secret-file.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { provideKeyFile } from '../keys/new-credential.ts';
import { holderCommands } from '../ui/holder-commands.ts';
import { makeTemporaryFolder, removeFolder } from './temporary-folder.ts';

export interface DevVault {
  readonly vault: Vault;
  readonly keys: DevKeys;
  readonly clock: DevClock;
  readonly snapshots: VaultSnapshots;
  /** Runs the commands of the console. */
  readonly holder: HolderCommands;
  /** Restores the contents that the vault had at its start, with the same keys. Absent for a persistent vault. */
  readonly reset?: () => Promise<void>;
  /** Makes the current contents the target of `reset`. Absent for a persistent vault. */
  readonly keepAsStart?: () => Promise<void>;
}

/** An open vault and its keys. */
type MadeVault = Pick<DevVault, 'vault' | 'keys'>;

/** Creates a vault that is removed when it is closed or the process exits. Never writes its key to disk. */
export async function temporaryDevVault(settings: VaultSettings): Promise<DevVault> {
  const folder = makeTemporaryFolder('dev');
  const remove = () => removeFolder(folder);
  const keep = atExit(remove);
  const key = new Uint8Array(randomBytes(KEY_FILE_BYTES));
  const credential = async (): Promise<Credential> => ({ kind: 'key_file', key: new Uint8Array(key) });
  const [file, start] = [path.join(folder, 'vault.db'), path.join(folder, 'start.db')];
  const all = { ...settings, clock: movableClock() };
  const made = await makeDevVault(file, await credential(), all, async () => undefined);
  // Close it before the copy: reading the file drops SQLite's locks in this process.
  await made.vault.close();
  await copyFile(file, start);
  const { reopen, vault, during, ...controls } = await controlled(file, credential, all);
  const close = async () => {
    await vault.close();
    keep();
    remove();
  };
  // A vault at its start has no snapshots.
  const goBack = async () => {
    await rm((await import('../../../vault/snapshots.ts')).folderOf(file), { recursive: true, force: true });
    await copyFile(start, file);
  };
  return {
    ...controls,
    vault: { ...vault, close },
    keys: made.keys,
    holder: holderCommands(file, credential, during),
    reset: () => reopen(goBack),
    keepAsStart: () => reopen(() => copyFile(file, start)),
  };
}

/** Opens a persistent vault, or creates it on first use. Its key and its two API keys are in files beside it. */
export async function keptDevVault(file: string, settings: VaultSettings): Promise<DevVault> {
  const all = { ...settings, clock: movableClock() };
  const made = await keptVault(file, all);
  const credential = () => readKeyFile(keyFileBeside(file));
  const { reopen: _none, during, ...controls } = await controlled(file, credential, all, made.vault);
  return { ...controls, keys: made.keys, holder: holderCommands(file, credential, during) };
}

/** Returns the vault, `first` or opened, and the functions that open it again after a reset or after loading a snapshot. */
async function controlled(
  file: string,
  credential: () => Promise<Credential>,
  settings: VaultSettings & { readonly clock: MovableClock },
  first?: Vault,
) {
  const [{ openFileVault }, { resettableVault }] = await Promise.all([
    import('../../../vault/vault.ts'),
    import('../../../vault/resettable.ts'),
  ]);
  const { clock } = settings;
  const open = async () => openFileVault({ file, credential: await credential(), ...settings });
  const { vault, reopen, during } = resettableVault(first ?? (await open()), open);

  async function use<T>(work: (snapshots: VaultSnapshots) => Promise<T>): Promise<T> {
    const { vaultSnapshots } = await import('../../../vault/snapshots.ts');
    return work(vaultSnapshots(file, credential));
  }
  const snapshots: VaultSnapshots = {
    list: () => use((all) => all.list()),
    save: (name, options) => reopen(() => use((all) => all.save(name, options))),
    delete: (name) => use((all) => all.delete(name)),
    load: (name) => reopen(() => use((all) => all.load(name))),
  };
  return { vault, reopen, during, clock: devClock(clock, vault), snapshots };
}

async function keptVault(file: string, settings: VaultSettings): Promise<MadeVault> {
  const keysFile = keysFileOf(file);
  if (existsSync(file)) {
    const keys = await readKeys(file);
    const { openFileVault } = await import('../../../vault/vault.ts');
    const credential = await readKeyFile(keyFileBeside(file));
    return { vault: await openFileVault({ file, credential, ...settings }), keys };
  }
  filePath('--file', file);
  // Remove an old keys file now. Later it may belong to another command that creates this vault.
  assertReplaceable(keysFile, '--file');
  await rm(keysFile, { force: true });
  const { credential, removeKeyFile } = await provideKeyFile(keyFileBeside(file));
  try {
    return await makeDevVault(file, credential, settings, (keys) =>
      writeWholeFile('--file', keysFile, `${JSON.stringify(keys)}\n`),
    );
  } catch (error) {
    // Keep the key file if the vault exists: another command may have created the vault with it.
    if (!existsSync(file)) await removeKeyFile();
    throw error;
  }
}

/** Creates the vault and its private application, and runs `keep` with the keys. Removes the vault if a step fails. */
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

/** Creates the private application through the API. Resolves to its key. */
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

const keysFileOf = (file: string): string => `${file}.dev.json`;

/** Throws the fault `usage` with `hint` unless `vault serve --dev` created the vault. */
export function requireDevVault(file: string, hint: string): void {
  if (existsSync(keysFileOf(file))) return;
  throw new Fault('usage', `${file} was not created by \`vault serve --dev\``, { hint });
}

async function readKeys(file: string): Promise<DevKeys> {
  const hint = 'serve the vault without --dev, or name another file';
  requireDevVault(file, hint);
  const keysFile = keysFileOf(file);
  const keys = parseText((await readSecretFile('--file', keysFile)).toString('utf8'));
  if (isDevKeys(keys)) return keys;
  throw new Fault('usage', `${keysFile} is damaged: it does not hold the API keys of ${file}`, { hint });
}

function isDevKeys(value: unknown): value is DevKeys {
  const members: Readonly<Record<string, unknown>> = { ...(value as object | null | undefined) };
  return ['tenant_id', 'management_key', 'private_key'].every((name) => typeof members[name] === 'string');
}
