import { randomBytes } from 'node:crypto';
import { Fault } from '../core/fault.ts';
import type { Instant, SlotRecord } from '../core/ports.ts';
import type { Credential } from './credential.ts';
import { openEnvelope, sealEnvelope } from './envelope.ts';
import { encodeFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import { deriveSlotKeys, PASSPHRASE_COST, SALT_BYTES } from './slot-kdf.ts';
import { encodeSlot, encodeSlotClear, newSlotCost, type Slot } from './slot-layout.ts';
import type { Sodium } from './sodium.ts';

function slotContext(vault: VaultIdentity, number: number, clear: Uint8Array): Uint8Array {
  return encodeFields('token-vault slot', vault.format, vault.vault_id, vault.generation, number, clear);
}

/** Wraps the master key for a credential. */
export async function wrapMasterKey(
  sodium: Sodium,
  vault: VaultIdentity,
  number: number,
  credential: Credential,
  master: Uint8Array,
  now: Instant,
): Promise<SlotRecord> {
  const salt = new Uint8Array(randomBytes(SALT_BYTES));
  const cost = newSlotCost(credential.kind, PASSPHRASE_COST);
  const { commitment, kek } = await deriveSlotKeys(sodium, credential, salt, cost);
  const clear = { kind: credential.kind, cost, created_at: now, salt, commitment };
  const context = slotContext(vault, number, encodeSlotClear(clear));
  const envelope = sealEnvelope(sodium, kek, vault.generation, context, master);
  kek.fill(0);
  return { slot: number, bytes: encodeSlot({ ...clear, envelope }) };
}

/**
 * The master key in a slot, or undefined when the credential is not this slot's: only the commitment decides that, so a
 * slot whose commitment matches but which does not unwrap is damaged (the fault), never a wrong credential.
 */
export async function unwrapMasterKey(
  sodium: Sodium,
  vault: VaultIdentity,
  number: number,
  slot: Slot,
  credential: Credential,
): Promise<Uint8Array | undefined> {
  const { commitment, kek } = await deriveSlotKeys(sodium, credential, slot.salt, slot.cost);
  if (!sodium.memcmp(commitment, slot.commitment)) return undefined;
  try {
    return openEnvelope(sodium, kek, slotContext(vault, number, encodeSlotClear(slot)), slot.envelope);
  } catch (cause) {
    throw new Fault('damaged', `key slot ${number} is damaged or was altered`, { cause });
  } finally {
    kek.fill(0);
  }
}
