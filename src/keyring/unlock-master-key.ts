import { Fault } from '../core/fault.ts';
import type { Keyring, VaultHeader } from '../core/ports.ts';
import { CREDENTIAL_NAMES, type Credential } from './credential.ts';
import { checkHeaderShape, verifyHeader } from './header-mac.ts';
import { openKeyring } from './keyring.ts';
import { decodeSlot, isBearable, unwrapMasterKey } from './slot.ts';
import { loadSodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

/**
 * Returns the master key of a vault, 32 bytes; the caller wipes it. Use it only for changes of slots (slots.ts), else
 * `unlockKeyring`. Throws the faults `wrong_credential`, `damaged`, `newer_format`.
 */
export async function unlockMasterKey(header: VaultHeader, credential: Credential): Promise<Uint8Array> {
  return (await openSlot(header, credential)).master;
}

/**
 * Returns the master key and the slot that the credential opened; the caller wipes the key. Checks every
 * slot before any derivation runs, and tries only slots of the credential's kind. Throws as `unlockMasterKey` does.
 */
export async function openSlot(header: VaultHeader, credential: Credential) {
  checkHeaderShape(header);
  const slots = header.slots.map(({ slot, bytes }) => ({ number: slot, slot: decodeSlot(slot, bytes) }));
  const candidates = slots.filter(({ slot }) => slot.kind === credential.kind);
  const name = CREDENTIAL_NAMES[credential.kind];
  if (candidates.length === 0) {
    const other = CREDENTIAL_NAMES[credential.kind === 'key_file' ? 'passphrase' : 'key_file'];
    throw new Fault('wrong_credential', `no ${name} opens this vault`, { hint: `use a ${other}` });
  }
  if (credential.kind === 'key_file' && credential.key.length !== KEY_BYTES) {
    throw new Fault('wrong_credential', `a key file must have exactly ${KEY_BYTES} bytes`);
  }
  if (!isBearable(candidates.map(({ slot }) => slot.cost))) {
    throw new Fault('damaged', 'the key slots together have a key derivation cost that is out of range');
  }
  const sodium = await loadSodium();
  for (const { number, slot } of candidates) {
    const master = await unwrapMasterKey(sodium, header, number, slot, credential);
    if (master === undefined) continue;
    try {
      verifyHeader(sodium, header, master);
    } catch (fault) {
      master.fill(0);
      throw fault;
    }
    return { master, slot: number, label: slot.label };
  }
  throw new Fault('wrong_credential', `the ${name} does not open this vault`);
}

/** Returns the keyring of an existing vault. Throws the faults `wrong_credential`, `damaged`, `newer_format`. */
export async function unlockKeyring(header: VaultHeader, credential: Credential): Promise<Keyring> {
  const master = await unlockMasterKey(header, credential);
  try {
    return openKeyring(await loadSodium(), header, master);
  } finally {
    master.fill(0);
  }
}
