import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Fault } from '../../../core/fault.ts';
import type { Credential } from '../../../keyring/credential.ts';
import { KEY_FILE_BYTES } from '../../credential/decode-key.ts';
import { runKeyCommand } from '../../credential/key-command.ts';
import { describeStrength } from '../../credential/passphrase-strength.ts';
import { isTypedByHand, withTries } from '../../credential/prompt.ts';
import {
  keyFileBeside,
  type NamedCredential,
  readKeyFile,
  readPassphraseFile,
} from '../../credential/read-credential.ts';
import { report } from '../../exit/report-failure.ts';
import { filePath } from '../../files/output-path.ts';
import { writeWholeFile } from '../../files/whole-file.ts';
import { flag } from '../../flags/global-flags.ts';

/** The credential of a new vault or slot. */
export interface NewCredential {
  readonly credential: Credential;
  /** Removes the key file if this command created it. */
  readonly removeKeyFile: () => Promise<void>;
}

export const WEAK_PASSPHRASE_FLAGS = {
  weakPassphrase: flag('--weak-passphrase', 'allow a passphrase of fewer than 12 characters'),
};

/**
 * Resolves to the named credential; to undefined if none is named or a prompt must read it. Creates a missing key file.
 */
export async function provideNamed(
  { keyFile, keyCommand, passphraseFile }: NamedCredential,
  dashes: '--' | '--new-',
): Promise<NewCredential | undefined> {
  if (keyFile !== undefined) return provideKeyFile(keyFile, `${dashes}key-file`);
  if (keyCommand !== undefined) return provideKeyCommand(keyCommand, `${dashes}key-command`);
  if (passphraseFile === undefined || isTypedByHand(passphraseFile)) return undefined;
  return keptCredential(await readPassphraseFile(passphraseFile, `${dashes}passphrase-file`));
}

/**
 * Resolves to the key that a program prints. Rejects with `wrong_credential` if a second run prints another key, and
 * with `usage` as `newKey` throws.
 */
export async function provideKeyCommand(command: string, flag: string): Promise<NewCredential> {
  const key = await runKeyCommand(command, flag);
  const again = await runKeyCommand(command, flag);
  const isSame = Buffer.compare(key, again) === 0;
  again.fill(0);
  if (isSame) return newKey({ kind: 'key_file', key }, flag);
  key.fill(0);
  throw new Fault('wrong_credential', `${flag}: the program printed another key the second time`, {
    hint: 'name a program that prints the same key each time',
  });
}

/**
 * Resolves to the key in a file. Creates a missing file: 32 random bytes, mode 0600. Errors name `flag`. Rejects with
 * `usage` as `newKey` throws.
 */
export async function provideKeyFile(path: string, flag = '--key-file'): Promise<NewCredential> {
  if (existsSync(path)) return newKey(await readKeyFile(path, flag), flag);
  filePath(flag, path);
  const key = randomBytes(KEY_FILE_BYTES);
  await writeWholeFile(flag, path, key);
  return { credential: { kind: 'key_file', key: new Uint8Array(key) }, removeKeyFile: () => rm(path, { force: true }) };
}

/** Creates the default key file of a new vault. Rejects with `file_exists` when the key file exists. */
export async function makeKeyFileBeside(file: string, flag = '--key-file'): Promise<NewCredential> {
  const keyFile = keyFileBeside(file);
  if (!existsSync(keyFile)) return provideKeyFile(keyFile, flag);
  throw new Fault('file_exists', `${keyFile} exists`, { hint: `pass ${flag} '${keyFile}' to use it` });
}

/** Returns whether a credential is a key of 32 equal bytes, such as a buffer that was never filled or already wiped. */
export function isUniform(credential: Credential): boolean {
  return credential.kind === 'key_file' && credential.key.every((byte) => byte === credential.key[0]);
}

/** Returns a given credential for a new vault or slot. Throws `usage`, naming `flag`, for a key of 32 equal bytes. */
export function newKey(credential: Credential, flag: string): NewCredential {
  if (!isUniform(credential)) return keptCredential(credential);
  throw new Fault('usage', `${flag}: a new key cannot be ${KEY_FILE_BYTES} equal bytes`, {
    hint: `use ${KEY_FILE_BYTES} random bytes, such as those of \`openssl rand ${KEY_FILE_BYTES}\``,
  });
}

/** Returns a credential without a new key file, so `removeKeyFile` does nothing. */
export function keptCredential(credential: Credential): NewCredential {
  return { credential, removeKeyFile: async () => undefined };
}

/**
 * Prompts for a new passphrase and to repeat it, three times at most. The question shows the rule. Reports the strength on
 * stderr. Resolves to an empty text only with `ifEmpty`, its meaning for the question. Rejects with the faults `weak_passphrase` and, when the two
 * differ, `usage`.
 */
export async function askNewPassphrase(question: string, allowWeak: boolean, ifEmpty?: string): Promise<string> {
  const { checkNewPassphrase, PASSPHRASE_RULE } = await import('../../../vault/admin.ts');
  const notes = [
    ...(allowWeak ? [] : [PASSPHRASE_RULE]),
    ...(ifEmpty === undefined ? [] : [`leave it empty for ${ifEmpty}`]),
  ];
  const message = notes.length === 0 ? question : `${question} (${notes.join('; ')})`;
  return withTries(['weak_passphrase', 'usage'], async (prompt) => {
    const passphrase = await prompt(message);
    if (passphrase === '' && ifEmpty !== undefined) return passphrase;
    checkNewPassphrase(passphrase, allowWeak);
    report(describeStrength(passphrase));
    if ((await prompt('Repeat the passphrase')) === passphrase) return passphrase;
    throw new Fault('usage', 'the two passphrases differ');
  });
}

/** Prompts as `askNewPassphrase` does. Resolves to the credential. */
export async function askNewCredential(question: string, allowWeak: boolean): Promise<NewCredential> {
  return keptCredential({ kind: 'passphrase', passphrase: await askNewPassphrase(question, allowWeak) });
}

export const LABEL_FLAGS = {
  label: flag('--label <text>', 'the label of the key slot; it is not secret', 'VAULT_SLOT_LABEL'),
};

const LABEL = /^(?! )[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,40}(?<! )$/u;

/** Returns the label of a slot in its composed form (NFC); undefined without one. Throws the fault `usage`. */
export function checkLabel(text: string | undefined): string | undefined {
  const label = text?.normalize('NFC');
  if (label === undefined || LABEL.test(label)) return label;
  throw new Fault(
    'usage',
    '--label (VAULT_SLOT_LABEL) must be 1 to 40 printable characters, without blanks at the ends',
  );
}
