import { Fault } from '../core/fault.ts';
import type { VaultHeader } from '../core/ports.ts';
import { encodeFields } from './field-encoder.ts';
import type { Sodium } from './sodium.ts';
import { deriveFromMaster } from './sub-keys.ts';

/** The format of headers, slots, envelopes and contexts that this version writes. */
export const FORMAT = 1;

export const MAX_SLOTS = 8;

const MAC_BYTES = 32;

/** The part of a header to which all values sealed under its master key are bound. */
export type VaultIdentity = Pick<VaultHeader, 'vault_id' | 'format' | 'generation'>;

/** Returns the header's MAC: a keyed BLAKE2b-256 hash of every field except `mac`. */
export function headerMac(sodium: Sodium, header: Omit<VaultHeader, 'mac'>, master: Uint8Array): Uint8Array {
  const { format, vault_id, created_at, generation, carried } = header;
  const slots = header.slots.toSorted((a, b) => a.slot - b.slot).flatMap(({ slot, bytes }) => [slot, bytes]);
  const more = carried === undefined ? [] : [carried];
  const message = encodeFields('token-vault header', format, vault_id, created_at, generation, slots, ...more);
  const key = deriveFromMaster(sodium, master, 'header_mac');
  const mac = sodium.crypto_generichash(MAC_BYTES, message, key);
  key.fill(0);
  return mac;
}

/** Throws the fault `damaged` when the header's MAC was not created with this master key. */
export function verifyHeader(sodium: Sodium, header: VaultHeader, master: Uint8Array): void {
  const expected = headerMac(sodium, header, master);
  if (header.mac.length !== expected.length || !sodium.memcmp(header.mac, expected)) {
    throw new Fault('damaged', 'the header of the vault is damaged or was altered');
  }
}

/**
 * Throws `newer_format` for a header of a newer version, and `damaged` for an invalid one. Call it before using the
 * header.
 */
export function checkHeaderShape(header: VaultHeader): void {
  if (Number.isInteger(header.format) && header.format > FORMAT) {
    throw new Fault('newer_format', `the vault has format ${header.format}; this version reads ${FORMAT}`);
  }
  const numbers = new Set(header.slots.map(({ slot }) => slot));
  const sound =
    header.format === FORMAT &&
    header.slots.length > 0 &&
    numbers.size === header.slots.length &&
    header.generation > 1 === (header.carried !== undefined) &&
    [...numbers].every((slot) => Number.isInteger(slot) && slot >= 0 && slot < MAX_SLOTS);
  if (!sound) throw new Fault('damaged', 'the header of the vault is damaged or was altered');
}
