import { LINK_BYTES } from '../core/audit/audit-link.ts';
import type { CommitMarkKey } from '../core/audit/ports.ts';
import type { Keyring } from '../core/ports.ts';
import { encodeFields, FieldEncoder } from './field-encoder.ts';
import type { Sodium } from './sodium.ts';

/** Returns the keyed hash of the marks that a writer thread leaves in its commits. */
export function auditChain(sodium: Sodium, { vault_id, key }: CommitMarkKey): Keyring['commitMark'] {
  const encoder = new FieldEncoder(encodeFields('token-vault audit', vault_id));
  return (previous, { sequence, at, sealed }) => {
    encoder.reset();
    for (const field of [previous, sequence, at, sealed]) encoder.field(field);
    return sodium.crypto_generichash(LINK_BYTES, encoder.written(), key);
  };
}
