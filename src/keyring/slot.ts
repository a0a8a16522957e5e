import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Fault } from '../core/fault.ts';
import type { Instant, SlotRecord } from '../core/ports.ts';
import type { Credential, CredentialKind } from './credential.ts';
import { ENVELOPE_OVERHEAD, openEnvelope, sealEnvelope } from './envelope.ts';
import { encodeFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import { loadLargeSodium, type Sodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

const SALT_BYTES = 16;

/** The cost of Argon2id 1.3 (RFC 9106) with one lane. */
export interface PassphraseCost {
  readonly passes: number;
  readonly memory_kib: number;
}

export const PASSPHRASE_COST: PassphraseCost = { passes: 3, memory_kib: 64 * 1024 };

/**
 * The accepted cost of a slot. The file is not trusted until it is unlocked: a lower cost would make guessing too
 * cheap, a higher one would exhaust this machine's memory or take hours.
 */
const COST_BOUNDS = {
  passes: { min: 2, max: 16 },
  memory_kib: { min: 19 * 1024, max: 1024 * 1024 },
} as const satisfies Record<keyof PassphraseCost, { readonly min: number; readonly max: number }>;

/**
 * The maximum cost of all slots together, in passes times KiB, since a wrong passphrase is tried on each slot. It
 * equals the maximum of one slot.
 */
const MAX_WORK = COST_BOUNDS.passes.max * COST_BOUNDS.memory_kib.max;

function isWithinBounds(cost: PassphraseCost): boolean {
  return (['passes', 'memory_kib'] as const).every((name) => {
    const { min, max } = COST_BOUNDS[name];
    return cost[name] >= min && cost[name] <= max;
  });
}

/** Returns whether slots of these costs, each within bounds, may all be tried in sequence. */
export function isBearable(costs: readonly PassphraseCost[]): boolean {
  return costs.reduce((work, { passes, memory_kib }) => work + passes * memory_kib, 0) <= MAX_WORK;
}

/**
 * Returns a slot's key-encryption key (KEK) and its commitment, the halves of 64 derived bytes: keyed BLAKE2b over the
 * salt for a key file, Argon2id for a passphrase. The commitment may be stored; the KEK may not. The caller checks
 * `cost`, which only a passphrase uses, and wipes the KEK.
 */
async function deriveSlotKeys(sodium: Sodium, credential: Credential, salt: Uint8Array, cost: PassphraseCost) {
  let derived: Uint8Array;
  if (credential.kind === 'key_file') {
    const message = encodeFields('token-vault key file', salt);
    derived = sodium.crypto_generichash(2 * KEY_BYTES, message, credential.key);
  } else {
    // NFC (UAX #15): the same passphrase gives the same bytes on every system.
    const passphrase = Buffer.from(credential.passphrase.normalize('NFC'), 'utf8');
    const sumo = await loadLargeSodium();
    const algorithm = sumo.crypto_pwhash_ALG_ARGON2ID13;
    const { passes, memory_kib } = cost;
    const name = `${passes} ${memory_kib} ${Buffer.from(salt).toString('hex')}`;
    const { keys: kept, keeps } = credential.derived ?? {};
    derived =
      kept?.get(name) ?? sumo.crypto_pwhash(2 * KEY_BYTES, passphrase, salt, passes, memory_kib * 1024, algorithm);
    if (keeps) kept?.set(name, new Uint8Array(derived));
    else kept?.delete(name);
    passphrase.fill(0);
  }
  const part = (from: number, to: number) => new Uint8Array(derived.subarray(from, to));
  const keys = { commitment: part(0, KEY_BYTES), kek: part(KEY_BYTES, 2 * KEY_BYTES) };
  derived.fill(0);
  return keys;
}

const LAYOUT = 0x01;
const KIND_BYTE = { key_file: 0x01, passphrase: 0x02 } as const satisfies Record<CredentialKind, number>;
const KINDS = Object.keys(KIND_BYTE) as CredentialKind[];

const SALT_AT = 18;
const COMMITMENT_AT = SALT_AT + SALT_BYTES;
const ENVELOPE_AT = COMMITMENT_AT + KEY_BYTES;
const LABEL_AT = ENVELOPE_AT + KEY_BYTES + ENVELOPE_OVERHEAD;
const CHECKSUM_BYTES = 4;
const MAX_LABEL_BYTES = 160;
const MIN_SLOT_BYTES = LABEL_AT + CHECKSUM_BYTES;
const MAX_SLOT_BYTES = MIN_SLOT_BYTES + MAX_LABEL_BYTES;

const NO_COST: PassphraseCost = { passes: 0, memory_kib: 0 };

/**
 * A decoded slot. A slot has 147 to 307 bytes, with integers in big endian:
 *
 *     offset  0       1     2           6               10              18       34             66           143
 *             layout  kind  passes u32  memory KiB u32  created_at u64  salt 16  commitment 32  envelope 77  label 0-160
 *
 * `layout` is 0x01, `kind` 0x01 (key file; passes and memory are 0) or 0x02 (passphrase). The bytes up to the envelope
 * are the slot's clear part. The envelope holds the master key; its key id is the generation. The label is UTF-8; only
 * the header's MAC protects it. The last 4 bytes are a checksum, the CRC-32 of all bytes before it. It only
 * distinguishes an accidentally damaged slot from a wrong credential, and does not stop an attacker.
 */
export interface Slot {
  readonly kind: CredentialKind;
  readonly cost: PassphraseCost;
  readonly created_at: Instant;
  readonly salt: Uint8Array;
  readonly commitment: Uint8Array;
  readonly envelope: Uint8Array;
  /** Empty for a slot without a label. */
  readonly label: string;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

const checksum = (bytes: Uint8Array) => crc32(bytes.subarray(0, -CHECKSUM_BYTES));

/** Returns the clear part of a slot, to which the envelope is bound. */
function encodeSlotClear(slot: Omit<Slot, 'envelope' | 'label'>): Uint8Array {
  const bytes = new Uint8Array(ENVELOPE_AT);
  const view = viewOf(bytes);
  bytes[0] = LAYOUT;
  bytes[1] = KIND_BYTE[slot.kind];
  view.setUint32(2, slot.cost.passes);
  view.setUint32(6, slot.cost.memory_kib);
  view.setBigUint64(10, BigInt(slot.created_at));
  bytes.set(slot.salt, SALT_AT);
  bytes.set(slot.commitment, COMMITMENT_AT);
  return bytes;
}

export function encodeSlot(slot: Slot): Uint8Array {
  const label = Buffer.from(slot.label);
  const bytes = new Uint8Array(MIN_SLOT_BYTES + label.length);
  bytes.set(encodeSlotClear(slot));
  bytes.set(slot.envelope, ENVELOPE_AT);
  bytes.set(label, LABEL_AT);
  viewOf(bytes).setUint32(bytes.length - CHECKSUM_BYTES, checksum(bytes));
  return bytes;
}

/**
 * Decodes a slot. Throws the fault `damaged` for bytes that are not a slot of version 1, and for a cost out of bounds.
 */
export function decodeSlot(number: number, bytes: Uint8Array): Slot {
  const view = viewOf(bytes);
  const end = bytes.length - CHECKSUM_BYTES;
  const fits = bytes.length >= MIN_SLOT_BYTES && bytes.length <= MAX_SLOT_BYTES;
  const intact = fits && view.getUint32(end) === checksum(bytes);
  const kind = KINDS.find((name) => KIND_BYTE[name] === bytes[1]);
  if (!intact || bytes[0] !== LAYOUT || kind === undefined) {
    throw new Fault('damaged', `key slot ${number} is damaged`);
  }
  const cost = { passes: view.getUint32(2), memory_kib: view.getUint32(6) };
  const sound =
    kind === 'passphrase'
      ? isWithinBounds(cost)
      : cost.passes === NO_COST.passes && cost.memory_kib === NO_COST.memory_kib;
  if (!sound) throw new Fault('damaged', `key slot ${number} has a key derivation cost that is out of range`);
  return {
    kind,
    cost,
    created_at: Number(view.getBigUint64(10)),
    salt: new Uint8Array(bytes.subarray(SALT_AT, COMMITMENT_AT)),
    commitment: new Uint8Array(bytes.subarray(COMMITMENT_AT, ENVELOPE_AT)),
    envelope: new Uint8Array(bytes.subarray(ENVELOPE_AT, LABEL_AT)),
    label: Buffer.from(bytes.subarray(LABEL_AT, end)).toString(),
  };
}

function slotContext(vault: VaultIdentity, number: number, clear: Uint8Array): Uint8Array {
  return encodeFields('token-vault slot', vault.format, vault.vault_id, vault.generation, number, clear);
}

/** Returns a new slot that holds the master key, wrapped for the credential. */
export async function wrapMasterKey(
  sodium: Sodium,
  vault: VaultIdentity,
  number: number,
  credential: Credential,
  master: Uint8Array,
  { created_at, label }: Pick<Slot, 'created_at' | 'label'>,
): Promise<SlotRecord> {
  const salt = new Uint8Array(randomBytes(SALT_BYTES));
  const cost = credential.kind === 'passphrase' ? PASSPHRASE_COST : NO_COST;
  const { commitment, kek } = await deriveSlotKeys(sodium, credential, salt, cost);
  const clear = { kind: credential.kind, cost, created_at, salt, commitment };
  const context = slotContext(vault, number, encodeSlotClear(clear));
  const envelope = sealEnvelope(sodium, kek, vault.generation, context, master);
  kek.fill(0);
  return { slot: number, bytes: encodeSlot({ ...clear, envelope, label }) };
}

/**
 * Returns the master key in a slot, or undefined when the credential does not match the slot's commitment. If it
 * matches but the master key cannot be unwrapped, throws the fault `damaged`.
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
    return openEnvelope(
      sodium,
      kek,
      vault.generation,
      slotContext(vault, number, encodeSlotClear(slot)),
      slot.envelope,
    );
  } catch (cause) {
    throw new Fault('damaged', `key slot ${number} is damaged or was altered`, { cause });
  } finally {
    kek.fill(0);
  }
}
