import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { shellWord } from '../../../client/shell-word.ts';
import { Fault } from '../../../core/fault.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import type { Credential } from '../../../keyring/credential.ts';
import { checkFileSystem } from '../../../paths/file-system.ts';
import type { StoreLocation } from '../../../vault/location.ts';
import type { CreateStoreVaultOptions } from '../../../vault/store-vault.ts';
import { withKeyFile } from '../../credential/key-out.ts';
import { canPrompt } from '../../credential/prompt.ts';
import {
  adjacentKeyFile,
  adjacentKeyWarning,
  keyFileBeside,
  namedCredential,
} from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { filePath } from '../../files/output-path.ts';
import { FLAGS, flag } from '../../flags/global-flags.ts';
import { chooseOwnLocation } from '../../flags/target.ts';
import { RESULT_VIEWS } from '../../output/result-views.ts';
import {
  askNewCredential,
  askNewPassphrase,
  checkLabel,
  keptCredential,
  LABEL_FLAGS,
  makeKeyFileBeside,
  type NewCredential,
  provideNamed,
  WEAK_PASSPHRASE_FLAGS,
} from '../keys/new-credential.ts';
import { type CommandLine, printing } from '../printing.ts';
import { checkTenantName } from '../tenants/check-tenant.ts';

const INIT_FLAGS = {
  tenant: flag('--tenant <name>', 'the name of the first tenant (default: default)', 'VAULT_TENANT_NAME'),
  grant: flag('--grant <role>', 'with --store: the role of the daemons; it can use the tables, but not alter them'),
  ...LABEL_FLAGS,
  ...WEAK_PASSPHRASE_FLAGS,
};

/**
 * `vault init`: creates the file or the tables, its key, its first tenant and the management application of this
 * tenant. Leaves nothing behind when it fails.
 */
export const defineInit = printing({
  flags: { ...INIT_FLAGS, ...FLAGS.file, ...FLAGS.fileSystem, ...FLAGS.keyOut },
  view: RESULT_VIEWS.init,
  help: `
Creates a missing key file: 32 random bytes, mode 0600. Keep a copy of it. Uses an existing key file only if
--key-file names it. Anybody with a copy of the vault and its key file can read the vault. With --store, name the
key: --key-file, --key-command or --passphrase-file.`,
  examples: [
    'vault init --file vault.db --key-out management.key',
    'vault init --file vault.db --key-file /media/usb/vault.key --tenant Shop',
    'vault init --file vault.db --passphrase-file -',
    "vault init --store 'postgres://owner@db.test/vault' \\\n    --key-file vault.key --grant daemon",
  ],
  work: (line) => withKeyFile(line.read(FLAGS.keyOut).keyOut, () => init(line), 'application.key'),
});

async function init(line: CommandLine): Promise<string> {
  const { tenant: tenantName = 'default', grant, weakPassphrase, ...flags } = line.read(INIT_FLAGS);
  const options = { tenantName, weakPassphrase, label: checkLabel(flags.label) };
  const location = chooseOwnLocation(line);
  checkTenantName('--tenant', tenantName);
  if (location.store !== undefined) return initStore(line, location.store, { ...options, grant });
  if ('grant' in line.flags) throw new Fault('usage', '--grant needs --store');
  const file = filePath('--file', location.file);
  if (await lstat(file).catch(() => undefined)) throw new Fault('file_exists', `${file} exists`);
  const notice = await checkFileSystem(file, line.read(FLAGS.fileSystem).allowNetworkFilesystem);
  if (notice !== undefined) report(notice);
  const { credential, removeKeyFile } = await newCredential(line, weakPassphrase, file);
  try {
    const { createVault } = await import('../../../vault/vault.ts');
    const { vault, tenant, application } = await createVault({ file, credential, ...options });
    await vault.close();
    const keyFile = credential.kind === 'key_file' ? adjacentKeyFile(file, line) : undefined;
    if (keyFile !== undefined) report(...adjacentKeyWarning(keyFile));
    if (canPrompt()) for (const note of initNotes(madeBy(line, file, credential))) report(...note);
    return stringifyJson({ file, tenant: tenant as Printable, application: application as Printable });
  } catch (error) {
    // Another command may have created this vault meanwhile, with the key file of this one.
    if (!existsSync(file)) await removeKeyFile();
    throw error;
  }
}

/** Creates the tables of a vault, with a key that is named: a database has no default key file. */
async function initStore(
  line: CommandLine,
  store: StoreLocation,
  options: Omit<CreateStoreVaultOptions, 'store' | 'credential'>,
): Promise<string> {
  const { createStoreVault, hasVault } = await import('../../../vault/store-vault.ts');
  if (Object.keys(namedCredential(line)).length === 0)
    throw new Fault('credential_missing', 'a database has no default key file');
  if (await hasVault(store)) {
    throw new Fault('conflict', `${store.url.shown} holds a vault in this schema`, {
      hint: 'name another schema with ?schema=NAME; existing vaults are never changed',
    });
  }
  const { credential, removeKeyFile } = await newCredential(line, options.weakPassphrase);
  try {
    const { tenant, application } = await createStoreVault({ store, credential, ...options });
    if (canPrompt()) report(`wrote ${store.url.whole}`, 'keep a copy of the key: without it nobody can read the vault');
    return stringifyJson({
      store: store.url.whole,
      tenant: tenant as Printable,
      application: application as Printable,
    });
  } catch (error) {
    // Keep the key file if another command has created this vault with it meanwhile.
    if (!(await hasVault(store).catch(() => true))) await removeKeyFile();
    throw error;
  }
}

/** A new vault. It has no `keyFile` if a passphrase or a command opens it, and no `keyOut` if the key is printed. */
export type MadeVault = ReturnType<typeof madeBy>;

function madeBy(line: CommandLine, file: string, { kind }: Credential) {
  const { keyCommand, keyFile = keyFileBeside(file) } = namedCredential(line);
  const isFile = kind === 'key_file' && keyCommand === undefined;
  return { file, keyFile: isFile ? keyFile : undefined, keyCommand, keyOut: line.read(FLAGS.keyOut).keyOut };
}

/**
 * Resolves to the named credential. Without one, prompts for a passphrase on a terminal. For a file, creates a key file
 * if there is no terminal or the passphrase is empty.
 */
async function newCredential(line: CommandLine, allowWeak: boolean, file?: string): Promise<NewCredential> {
  const named = namedCredential(line);
  const provided = await provideNamed(named, '--');
  if (provided !== undefined) return provided;
  if (file === undefined) return askNewCredential('Passphrase', allowWeak);
  if (!canPrompt()) return makeKeyFileBeside(file);
  const ifEmpty = named.passphraseFile === undefined ? `the key file ${keyFileBeside(file)}` : undefined;
  const passphrase = await askNewPassphrase('Passphrase', allowWeak, ifEmpty);
  return passphrase === '' ? makeKeyFileBeside(file) : keptCredential({ kind: 'passphrase', passphrase });
}

/** A fact and a hint for `report`. */
type Note = readonly [fact: string, hint: string];

/** Returns notes for a person at a terminal about a new vault: the files, what to keep, and the next command. */
export function initNotes({ file, keyFile, keyCommand, keyOut }: MadeVault): readonly Note[] {
  const secret = keyCommand === undefined ? 'passphrase' : 'key from the command';
  const made: Note =
    keyFile === undefined
      ? [`wrote ${file}; the ${secret} opens it`, `keep the ${secret}: without it nobody can read the vault`]
      : [
          `wrote ${file}; ${keyFile} opens it`,
          `keep a copy of ${keyFile} in another place: without it nobody can read the vault`,
        ];
  const named = keyFile === undefined || keyFile === keyFileBeside(file) ? '' : ` --key-file ${shellWord(keyFile)}`;
  const opener = keyCommand === undefined ? named : ` --key-command ${shellWord(keyCommand)}`;
  const next = `vault apps create --file ${shellWord(file)}${opener} --api-key-file ${shellWord(keyOut ?? 'FILE')} --name backend --type private --rule 'container=/ transform=mask permissions=token:create,token:read'`;
  return [
    made,
    keyOut === undefined
      ? ['the API key below creates applications', next]
      : [`wrote the API key to ${keyOut}`, `create an application: ${next}`],
  ];
}
