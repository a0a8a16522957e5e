import { Fault } from '../../../core/fault.ts';
import type { NamedOpener, NamedSeal } from '../../../vault/transfer.ts';
import { type FlagValues, flag } from '../../global-flags.ts';
import { canPrompt, promptSecret } from '../../prompt.ts';
import { readSecretFile } from '../../secret-file.ts';
import { decodeText } from '../../text-reader.ts';

const PASSPHRASE_FLAG = {
  sealPassphraseFile: flag('--seal-passphrase-file <path>', 'a file with the passphrase of a sealed export'),
};

/** The recipient or passphrase that seals an export. */
export const SEAL_FLAGS = {
  recipient: flag('--recipient <key>', 'seal for this public key from `vault keygen`'),
  ...PASSPHRASE_FLAG,
  plaintext: flag('--plaintext', 'do not seal: anybody with the file can read the tokens'),
};

/** The credential that opens a sealed export. */
export const OPEN_FLAGS = {
  identity: flag('--identity <path>', 'the secret key file from `vault keygen`'),
  ...PASSPHRASE_FLAG,
};

/**
 * Resolves to the recipient or passphrase that seals an export, or to undefined for an unsealed export. Without flags,
 * prompts for a passphrase on a terminal. Rejects with the fault `usage` for several flags, or for none without a
 * terminal.
 */
export async function chooseSeal(
  { recipient, sealPassphraseFile: passphraseFile, plaintext }: FlagValues<typeof SEAL_FLAGS>,
  { sharable }: { readonly sharable: boolean },
): Promise<NamedSeal | undefined> {
  if ([recipient !== undefined, passphraseFile !== undefined, plaintext].filter(Boolean).length > 1) {
    throw new Fault('usage', 'only one of --recipient, --seal-passphrase-file and --plaintext can be given');
  }
  if (recipient !== undefined) return { recipient };
  if (passphraseFile !== undefined) return { passphrase: await readPassphrase(passphraseFile) };
  if (plaintext || sharable) return undefined;
  if (!canPrompt()) {
    throw new Fault('usage', 'an export must be sealed, or --plaintext must be given', {
      hint: 'set --recipient (VAULT_RECIPIENT), --seal-passphrase-file (VAULT_SEAL_PASSPHRASE_FILE) or --plaintext',
    });
  }
  const passphrase = await promptSecret('Passphrase for the sealed export');
  if ((await promptSecret('Repeat the passphrase')) === passphrase) return { passphrase };
  throw new Fault('usage', 'the two passphrases differ');
}

/** Resolves to the credential of a sealed file. Without flags, prompts for a passphrase. Rejects with `usage`. */
export async function chooseOpener({
  identity,
  sealPassphraseFile: passphraseFile,
}: FlagValues<typeof OPEN_FLAGS>): Promise<NamedOpener> {
  if (identity !== undefined && passphraseFile !== undefined) {
    throw new Fault('usage', 'only one of --identity and --seal-passphrase-file can be given');
  }
  if (identity !== undefined) return { secret: (await readSecretFile('--identity', identity)).toString('utf8') };
  if (passphraseFile !== undefined) return { passphrase: await readPassphrase(passphraseFile) };
  if (canPrompt()) return { passphrase: await promptSecret('Passphrase of the sealed export') };
  throw new Fault('usage', 'the file is sealed', {
    hint: 'set --identity (VAULT_IDENTITY) or --seal-passphrase-file (VAULT_SEAL_PASSPHRASE_FILE)',
  });
}

async function readPassphrase(path: string): Promise<string> {
  const flag = '--seal-passphrase-file';
  return decodeText(flag, await readSecretFile(flag, path)).replace(/\r?\n$/, '');
}
