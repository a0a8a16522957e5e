import { existsSync, lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../core/fault.ts';
import type { Credential } from '../../keyring/credential.ts';
import type { VaultLocation } from '../../vault/location.ts';
import { readSecretFile } from '../files/secret-file.ts';
import { createTextReader, decodeText } from '../files/text-reader.ts';
import { checkPath } from '../files/typed-paths.ts';
import { type Environment, FLAGS, type FlagRow, type FlagsOf, type GlobalFlags } from '../flags/global-flags.ts';
import { canPrompt, isTypedByHand, promptSecret } from './prompt.ts';

export const KEY_FILE_BYTES = 32;

/** The source of a credential. It has at most one member. */
export type NamedCredential = FlagsOf<typeof FLAGS.credential>;

/** Returns the source that flags or, without one, variables name. Throws `usage` for two flags or two variables. */
export function namedCredential(flags: GlobalFlags, env: Environment): NamedCredential {
  const rows = Object.entries(FLAGS.credential) as [keyof NamedCredential, FlagRow][];
  const typed = rows.map(([name, row]) => [name, row.flag.replace(/ .*/, ''), flags[name]] as const);
  return onlyOne(typed) ?? onlyOne(rows.map(([name, row]) => [name, row.env, env[row.env]])) ?? {};
}

/** Returns the source that has a value; undefined for none. Throws the fault `usage` when several have a value. */
export function onlyOne(
  sources: readonly (readonly [name: keyof NamedCredential, typedAs: string, value: string | undefined])[],
): NamedCredential | undefined {
  const given = sources.filter(([, , value]) => value);
  if (given.length > 1) {
    throw new Fault('usage', `${given.map(([, typedAs]) => typedAs).join(' and ')} cannot be given together`);
  }
  return given.length === 0 ? undefined : Object.fromEntries(given.map(([name, , value]) => [name, value]));
}

/** Returns the path of a vault's default key file: the path of the vault with `.key` appended. */
export function keyFileBeside(file: string): string {
  return `${file}.key`;
}

/** Returns the key file that opens the vault if the file is in the vault's own folder; undefined otherwise. */
export function adjacentKeyFile(file: string, flags: GlobalFlags, env: Environment): string | undefined {
  const { passphraseFile, keyCommand, keyFile = keyFileBeside(file) } = namedCredential(flags, env);
  const isKey = (passphraseFile ?? keyCommand) === undefined && lstatSync(keyFile, { throwIfNoEntry: false })?.isFile();
  const folderOf = (name: string) => realpathSync(path.dirname(name));
  return isKey && folderOf(keyFile) === folderOf(file) ? keyFile : undefined;
}

/** Returns a warning about a key file in the vault's folder: a fact and a hint for `report`. */
export function adjacentKeyWarning(keyFile: string): readonly [string, string] {
  return [
    `${keyFile} is in the vault's folder: a copy of the folder opens the vault`,
    'keep the key file in another folder, and name it with --key-file DIR/FILE',
  ];
}

/**
 * Resolves to the credential of a vault: the named one, or the default key file of a file. Otherwise asks for a
 * passphrase on a terminal.
 */
export async function readCredential(
  { file, store }: VaultLocation,
  flags: GlobalFlags,
  env: Environment,
): Promise<Credential> {
  const named = namedCredential(flags, env);
  if (named.keyFile !== undefined) return readKeyFile(named.keyFile);
  if (named.passphraseFile !== undefined) return readPassphraseFile(named.passphraseFile);
  if (file !== undefined) {
    if (named.keyCommand === undefined && existsSync(keyFileBeside(file))) return readKeyFile(keyFileBeside(file));
    if (!existsSync(file)) {
      checkPath('--file', file);
      throw new Fault('file_missing', `there is no file ${file}`);
    }
    const { checkUnopenedVault } = await import('../../vault/vault.ts');
    await checkUnopenedVault(file);
  }
  if (named.keyCommand !== undefined) return readKeyCommand(named.keyCommand);
  const name = file ?? store?.url.shown ?? '';
  if (!canPrompt()) throw file === undefined ? new Fault('credential_missing', `no key for ${name}`) : noKeyFor(file);
  return { kind: 'passphrase', passphrase: await promptSecret(`Passphrase of ${name}`) };
}

/** Returns the fault for a vault file without a named credential and without its default key file. */
export function noKeyFor(file: string): Fault {
  return new Fault('credential_missing', `no key for ${file}: ${keyFileBeside(file)} does not exist`);
}

/**
 * Resolves to the API key in `--api-key-file`, else `VAULT_API_KEY`, else the key in the file `VAULT_API_KEY_FILE`; to
 * undefined if none is named.
 */
export async function findApiKey(flags: GlobalFlags, env: Environment): Promise<string | undefined> {
  const file = flags.apiKeyFile ?? (env['VAULT_API_KEY'] ? undefined : env[FLAGS.key.apiKeyFile.env] || undefined);
  if (file !== undefined) return (await readSecretFile('--api-key-file', file)).toString('utf8').trim();
  return env['VAULT_API_KEY']?.trim() || undefined;
}

/** Resolves to the API key as `findApiKey` does. Rejects with the fault `usage` if none is named. */
export async function readApiKey(flags: GlobalFlags, env: Environment): Promise<string> {
  const key = await findApiKey(flags, env);
  if (key !== undefined) return key;
  throw new Fault('usage', 'an API key is required', {
    hint: 'set VAULT_API_KEY or --api-key-file (VAULT_API_KEY_FILE)',
  });
}

export async function readKeyFile(path: string, flag = '--key-file'): Promise<Credential> {
  const bytes = await readSecretFile(flag, path);
  const key = new Uint8Array(bytes);
  bytes.fill(0);
  if (key.length === KEY_FILE_BYTES) return { kind: 'key_file', key };
  throw new Fault('wrong_credential', `${path} is not a key file: it does not hold ${KEY_FILE_BYTES} bytes`);
}

/** Runs a program that prints the key: 32 bytes, as in a key file, or as 64 hex or 44 base64 characters. */
export async function readKeyCommand(command: string, flag = '--key-command'): Promise<Credential> {
  const { runKeyCommand } = await import('./key-command.ts');
  return { kind: 'key_file', key: await runKeyCommand(command, flag) };
}

export async function readPassphraseFile(path: string, flag = '--passphrase-file'): Promise<Credential> {
  if (isTypedByHand(path)) return { kind: 'passphrase', passphrase: await promptSecret('Passphrase') };
  const text = path === '-' ? await createTextReader()(flag, path) : decodeText(flag, await readSecretFile(flag, path));
  return { kind: 'passphrase', passphrase: text.replace(/\r?\n$/, '') };
}
