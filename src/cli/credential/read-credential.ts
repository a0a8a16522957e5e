import { existsSync, lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { hasApiKeyFormat, isApiKey } from '../../core/applications/api-key.ts';
import { Fault } from '../../core/fault.ts';
import type { Credential } from '../../keyring/credential.ts';
import type { VaultLocation } from '../../vault/location.ts';
import { readSecretFile } from '../files/secret-file.ts';
import { createTextReader, decodeText } from '../files/text-reader.ts';
import { checkPath } from '../files/typed-paths.ts';
import { FLAGS, type FlagRow, type FlagsOf, type Line } from '../flags/global-flags.ts';
import { decodeKey, KEY_FORMS } from './decode-key.ts';
import { canPrompt, isTypedByHand, withTries } from './prompt.ts';

/** The source of a credential. It has at most one member. */
export type NamedCredential = FlagsOf<typeof FLAGS.credential>;

/** Returns the source that flags or, without one, variables name. Throws `usage` for two flags or two variables. */
export function namedCredential({ flags, env }: Line): NamedCredential {
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
export function adjacentKeyFile(file: string, line: Line): string | undefined {
  const { passphraseFile, keyCommand, keyFile = keyFileBeside(file) } = namedCredential(line);
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
 * passphrase on a terminal, three times at most.
 */
export async function readCredential(location: VaultLocation, line: Line): Promise<Credential> {
  const { file, store } = location;
  const { keyFile, keyCommand, passphraseFile } = namedCredential(line);
  if (keyFile !== undefined) return readKeyFile(keyFile);
  if (passphraseFile !== undefined && !isTypedByHand(passphraseFile)) return readPassphraseFile(passphraseFile);
  if (file !== undefined) {
    const isUnnamed = (keyCommand ?? passphraseFile) === undefined;
    if (isUnnamed && existsSync(keyFileBeside(file))) return readKeyFile(keyFileBeside(file));
    if (!existsSync(file)) {
      checkPath('--file', file);
      throw new Fault('file_missing', `there is no file ${file}`);
    }
    const { checkUnopenedVault } = await import('../../vault/vault.ts');
    await checkUnopenedVault(file);
  }
  if (keyCommand !== undefined) return readKeyCommand(keyCommand);
  const name = file ?? store?.url.shown ?? '';
  if (!canPrompt()) throw file === undefined ? new Fault('credential_missing', `no key for ${name}`) : noKeyFor(file);
  const { passphraseCheck } = await import('../../vault/passphrase-check.ts');
  const check = await passphraseCheck(location);
  return withTries(['wrong_credential'], async (prompt) => check(await prompt(`Passphrase of ${name}`)));
}

/** Returns the fault for a vault file without a named credential and without its default key file. */
export function noKeyFor(file: string): Fault {
  return new Fault('credential_missing', `no key for ${file}: ${keyFileBeside(file)} does not exist`);
}

/**
 * Resolves to the API key in `--api-key-file`, else `VAULT_API_KEY`, else the key in the file `VAULT_API_KEY_FILE`; to
 * undefined if none is named. Rejects with the fault `usage` as `checkApiKey` throws.
 */
export async function findApiKey({ flags, env }: Line): Promise<string | undefined> {
  const file = flags.apiKeyFile ?? (env['VAULT_API_KEY'] ? undefined : env[FLAGS.key.apiKeyFile.env] || undefined);
  if (file !== undefined) {
    const text = (await readSecretFile('--api-key-file', file)).toString('utf8');
    return checkApiKey(`--api-key-file: ${file}`, text);
  }
  const key = env['VAULT_API_KEY']?.trim();
  if (!key) return undefined;
  return checkApiKey(process.env['VAULT_API_KEY'] ? 'VAULT_API_KEY' : 'the API key of the profile', key);
}

/** Resolves to the API key as `findApiKey` does. Rejects with the fault `usage` if none is named. */
export async function readApiKey(line: Line): Promise<string> {
  const key = await findApiKey(line);
  if (key !== undefined) return key;
  throw new Fault('usage', 'an API key is required', {
    hint: 'set VAULT_API_KEY or --api-key-file (VAULT_API_KEY_FILE)',
  });
}

/**
 * Returns an API key without the white space around it. Throws the fault `usage` for another text, which the error does
 * not repeat. `source` is where the text comes from.
 */
export function checkApiKey(source: string, text: string): string {
  const key = text.trim();
  if (isApiKey(key)) return key;
  const [what, hint] = /^["'`]|["'`]$/.test(key)
    ? ['it has quotes around it', 'remove the quotes']
    : hasApiKeyFormat(key)
      ? ['its checksum is wrong', 'copy the key again: a character differs']
      : ['it must be `key_` and 32 letters and digits', 'copy the whole key, and nothing else'];
  throw new Fault('usage', `${source} is not an API key: ${what}`, { hint });
}

/** Resolves to the key in a file, in each form that `decodeKey` reads. Errors name `flag`. */
export async function readKeyFile(path: string, flag = '--key-file'): Promise<Credential> {
  const bytes = await readSecretFile(flag, path);
  const key = decodeKey(bytes);
  bytes.fill(0);
  if (key !== undefined) return { kind: 'key_file', key };
  throw new Fault('wrong_credential', `${path} is not a key file`, { hint: `a key file holds ${KEY_FORMS}` });
}

/** Runs a program that prints the key: 32 bytes, as in a key file, or as 64 hex or 44 base64 characters. */
export async function readKeyCommand(command: string, flag = '--key-command'): Promise<Credential> {
  const { runKeyCommand } = await import('./key-command.ts');
  return { kind: 'key_file', key: await runKeyCommand(command, flag) };
}

export async function readPassphraseFile(path: string, flag = '--passphrase-file'): Promise<Credential> {
  const text = path === '-' ? await createTextReader()(flag, path) : decodeText(flag, await readSecretFile(flag, path));
  return { kind: 'passphrase', passphrase: text.replace(/\r?\n$/, '') };
}
