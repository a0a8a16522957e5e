import { Fault } from '../core/fault.ts';
import { KEY_BYTES } from './sub-keys.ts';

/** Keys from Argon2id, by salt and cost. `keeps` makes a derivation add its keys instead of taking them. */
export interface DerivedKeys {
  readonly keys: Map<string, Uint8Array>;
  readonly keeps: boolean;
}

/**
 * The secret that unlocks a vault: the 32 raw bytes of a key file, or a passphrase as typed. `derived` has keys that
 * Argon2id made of it, each for one use.
 */
export type Credential =
  | { readonly kind: 'key_file'; readonly key: Uint8Array }
  | { readonly kind: 'passphrase'; readonly passphrase: string; readonly derived?: DerivedKeys };

export type CredentialKind = Credential['kind'];

/** The names of credentials in messages. */
export const CREDENTIAL_NAMES = { key_file: 'key', passphrase: 'passphrase' } as const;

export const MIN_CHARACTERS = 12;

/**
 * Throws `weak_passphrase` for fewer than 12 characters, unless `allowWeak` is set. An empty passphrase is never
 * allowed.
 */
export function requireStrongPassphrase(passphrase: string, allowWeak: boolean): void {
  const characters = [...passphrase.normalize('NFC')].length;
  if (characters === 0) {
    throw new Fault('weak_passphrase', 'the passphrase is empty', { hint: 'use at least 12 characters' });
  }
  if (characters < MIN_CHARACTERS && !allowWeak) {
    throw new Fault('weak_passphrase', `the passphrase has fewer than ${MIN_CHARACTERS} characters`);
  }
}

/** Throws `usage` or `weak_passphrase` for a credential that cannot be given a slot. */
export function checkNewCredential(credential: Credential, allowWeak: boolean): void {
  if (credential.kind === 'passphrase') requireStrongPassphrase(credential.passphrase, allowWeak);
  else if (credential.key.length !== KEY_BYTES)
    throw new Fault('usage', `a key file must have exactly ${KEY_BYTES} bytes`);
}
