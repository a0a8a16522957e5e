import { Fault } from '../core/fault.ts';
import type { Credential } from './credential.ts';
import { requireStrongPassphrase } from './passphrase.ts';
import { KEY_BYTES } from './sub-keys.ts';

/** Throws `usage` or `weak_passphrase` when a credential is not fit to be given a slot. */
export function checkNewCredential(credential: Credential, allowWeak: boolean): void {
  if (credential.kind === 'passphrase') requireStrongPassphrase(credential.passphrase, allowWeak);
  else if (credential.key.length !== KEY_BYTES) throw new Fault('usage', `a key file has exactly ${KEY_BYTES} bytes`);
}
