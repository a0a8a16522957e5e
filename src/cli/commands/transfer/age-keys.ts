import type { Decrypter, Encrypter, Identity } from 'age-encryption';
import { Fault } from '../../../core/fault.ts';
import { canPrompt, withTries } from '../../credential/prompt.ts';
import { readSecretFile } from '../../files/secret-file.ts';
import { decodeText } from '../../files/text-reader.ts';
import { type FlagValues, flag, oneShot } from '../../flags/global-flags.ts';
import { askNewPassphrase, WEAK_PASSPHRASE_FLAGS } from '../keys/new-credential.ts';
import { type FileStart, streamOf } from './age-file.ts';

const PASSPHRASE_FLAG = {
  agePassphraseFile: flag('--age-passphrase-file <path>', 'a file with the passphrase of an encrypted export'),
};

/** The recipients or the passphrase of an encrypted export. */
export const ENCRYPT_FLAGS = {
  recipient: {
    ...flag('--recipient <key>', 'an age public key (age1…); repeatable, comma-separated in VAULT_RECIPIENT'),
    repeatable: true,
  },
  ...PASSPHRASE_FLAG,
  ...WEAK_PASSPHRASE_FLAGS,
  plaintext: oneShot('--plaintext', 'do not encrypt: anybody with the file can read the tokens'),
} as const;

/** The keys that open an encrypted export. */
export const DECRYPT_FLAGS = {
  identity: flag('--identity <path>', 'a file with secret keys, from `vault keygen` or `age-keygen`'),
  ...PASSPHRASE_FLAG,
};

/** The X25519 keys of age, in Bech32. The package also accepts other kinds, which `vault import` cannot read. */
const RECIPIENT = /^age1[02-9ac-hj-np-z]{58}$/;
const IDENTITY = /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/;

/** The encryption of an export, and the kind of key that opens the export. */
export interface Encryption {
  readonly by: 'recipient' | 'passphrase';
  /** Resolves to the encrypter. Prompts for a passphrase if none is given. Rejects with `weak_passphrase`. */
  readonly makeEncrypter: () => Promise<Encrypter>;
}

/**
 * Resolves to the encryption of an export, or to undefined for an export in plaintext. Rejects with the fault `usage`
 * for conflicting flags, for missing flags without a terminal, and for a key that is not an X25519 recipient. Rejects
 * with `weak_passphrase` for a weak passphrase in a file.
 */
export async function chooseEncryption(
  { recipient: recipients, agePassphraseFile: file, weakPassphrase, plaintext }: FlagValues<typeof ENCRYPT_FLAGS>,
  { sharable }: { readonly sharable: boolean },
): Promise<Encryption | undefined> {
  if ([recipients.length > 0, file !== undefined, plaintext].filter(Boolean).length > 1) {
    throw new Fault('usage', 'only one of --recipient, --age-passphrase-file and --plaintext can be given');
  }
  if (plaintext || (sharable && recipients.length === 0 && file === undefined)) return undefined;
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  if (recipients.length === 0) {
    const passphrase = await passphraseReader(file, weakPassphrase);
    const makeEncrypter = async () => {
      encrypter.setPassphrase(await passphrase());
      return encrypter;
    };
    return { by: 'passphrase', makeEncrypter };
  }
  for (const text of recipients) {
    const add = async () => {
      encrypter.addRecipient(text);
      // `addRecipient` accepts a point of low order, with which anybody could open the export. `encrypt` rejects it.
      await encrypter.encrypt(streamOf([]));
    };
    if (RECIPIENT.test(text) && (await succeeds(add))) continue;
    // Do not print any other text: it may be a secret key.
    const shown = /^age1\w*$/.test(text) ? `--recipient ${text}` : '--recipient';
    throw new Fault('usage', `${shown} is not an X25519 age public key`, {
      hint: 'pass a key (age1…) of `vault keygen` or `age-keygen`; for others, run `vault export --plaintext | age -r KEY`',
    });
  }
  return { by: 'recipient', makeEncrypter: async () => encrypter };
}

/** Checks a passphrase file. Resolves to a function that resolves to its passphrase, or prompts for one. */
async function passphraseReader(file: string | undefined, allowWeak: boolean): Promise<() => Promise<string>> {
  if (file === undefined && !canPrompt()) {
    throw new Fault('usage', 'an export must be encrypted, or --plaintext must be given', {
      hint: 'set --recipient (VAULT_RECIPIENT), --age-passphrase-file (VAULT_AGE_PASSPHRASE_FILE) or --plaintext',
    });
  }
  if (file === undefined) return () => askNewPassphrase('Passphrase for the export', allowWeak);
  const passphrase = await readPassphrase(file);
  (await import('../../../vault/admin.ts')).checkNewPassphrase(passphrase, allowWeak);
  return async () => passphrase;
}

/**
 * Resolves to the decrypter of a file, with the keys of `--identity` or the passphrase. Prompts for a missing
 * passphrase on a terminal. Rejects with the fault `usage` if the flag that the file needs is missing, or names a file
 * without a valid key. The decrypter rejects with `wrong_credential` if no key opens the file.
 */
export async function chooseDecrypter(
  { identity, agePassphraseFile: file }: FlagValues<typeof DECRYPT_FLAGS>,
  { byPassphrase, bytes }: FileStart,
): Promise<Decrypter> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  if (byPassphrase && file !== undefined) decrypter.addPassphrase(await readPassphrase(file));
  else if (byPassphrase && canPrompt()) decrypter.addIdentity({ unwrapFileKey: () => askFileKey(bytes) });
  else if (!byPassphrase && identity !== undefined) await addIdentities(decrypter, identity);
  else {
    const hint = `set ${byPassphrase ? '--age-passphrase-file (VAULT_AGE_PASSPHRASE_FILE)' : '--identity (VAULT_IDENTITY)'}`;
    throw new Fault('usage', `the export is encrypted ${byPassphrase ? 'with a passphrase' : 'for a recipient'}`, {
      hint,
    });
  }
  decrypter.addIdentity(lastIdentity(byPassphrase));
  return decrypter;
}

/** Returns an identity that rejects. The decrypter tries its keys in order: it reaches this one if no other opens the file. */
function lastIdentity(byPassphrase: boolean): Identity {
  return {
    unwrapFileKey(): never {
      const what = byPassphrase ? 'the passphrase does not open' : 'no key of --identity opens';
      const hint = `pass the ${byPassphrase ? 'passphrase' : 'secret key of a --recipient'} of the export`;
      throw new Fault('wrong_credential', `${what} the export`, { hint });
    },
  };
}

/** Prompts for the passphrase of a file, three times at most. Resolves to the key in its header. */
async function askFileKey(start: Uint8Array): Promise<Uint8Array> {
  const { Decrypter } = await import('age-encryption');
  return withTries(['wrong_credential'], async (prompt) => {
    const decrypter = new Decrypter();
    decrypter.addPassphrase(await prompt('Passphrase of the export'));
    decrypter.addIdentity(lastIdentity(true));
    return decrypter.decryptHeader(start);
  });
}

/** Adds the keys of a file, one on each line. Ignores empty lines and comments. */
async function addIdentities(decrypter: Decrypter, path: string): Promise<void> {
  const lines = (await readSecretFile('--identity', path))
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim());
  const keys = lines.filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new Fault('usage', `--identity: ${path} has no key`);
  for (const key of keys) {
    if (IDENTITY.test(key) && (await succeeds(() => decrypter.addIdentity(key)))) continue;
    throw new Fault('usage', `--identity: line ${lines.indexOf(key) + 1} of ${path} is not an X25519 age secret key`, {
      hint: 'for SSH, plugin and post-quantum keys, run `age -d -i KEYS EXPORT | vault import -`',
    });
  }
}

/** Resolves to whether an operation of the package succeeds. Drops the error, which may contain a secret key. */
async function succeeds(operation: () => unknown): Promise<boolean> {
  try {
    await operation();
    return true;
  } catch {
    return false;
  }
}

async function readPassphrase(path: string): Promise<string> {
  const flag = '--age-passphrase-file';
  return decodeText(flag, await readSecretFile(flag, path)).replace(/\r?\n$/, '');
}
