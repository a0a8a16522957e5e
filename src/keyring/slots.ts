import { Fault } from '../core/fault.ts';
import type { VaultHeader } from '../core/ports.ts';
import { CREDENTIAL_NAMES, type Credential, checkNewCredential } from './credential.ts';
import { headerMac, MAX_SLOTS, verifyHeader } from './header-mac.ts';
import { type CreateKeyringOptions, findSlot } from './master-key.ts';
import { decodeSlot, wrapMasterKey } from './slot.ts';
import { loadSodium } from './sodium.ts';

/**
 * Returns the public facts of the slots, in order of number. `label` is absent for a slot without a label. Needs no
 * key, so the result is only as reliable as the file until the vault is unlocked.
 */
export function listSlots(header: VaultHeader) {
  return header.slots
    .map(({ slot, bytes }) => {
      const { kind, created_at, label } = decodeSlot(slot, bytes);
      return { slot, kind, created_at, ...(label !== '' && { label }) };
    })
    .sort((a, b) => a.slot - b.slot);
}

async function withSlots(header: VaultHeader, master: Uint8Array, slots: VaultHeader['slots']): Promise<VaultHeader> {
  return { ...header, slots, mac: headerMac(await loadSodium(), { ...header, slots }, master) };
}

/**
 * Returns the header with a slot for one more credential. `master` is from `unlockMasterKey`. Throws `conflict` for a
 * credential that already opens a slot: after `removeSlot`, it would still open the other slot. Throws `conflict` also
 * for the label of another slot.
 */
export async function addSlot(
  header: VaultHeader,
  master: Uint8Array,
  credential: Credential,
  { now, allowWeak = false, label = '' }: CreateKeyringOptions,
): Promise<VaultHeader> {
  checkNewCredential(credential, allowWeak);
  const sodium = await loadSodium();
  verifyHeader(sodium, header, master);
  const opened = await findSlot(header, credential);
  if (opened !== undefined) {
    throw new Fault('conflict', `the ${CREDENTIAL_NAMES[credential.kind]} already opens this vault: slot ${opened}`);
  }
  if (label !== '' && listSlots(header).some((slot) => slot.label === label)) {
    throw new Fault('conflict', 'another key slot has this label', { hint: 'choose another one, or remove that slot' });
  }
  const taken = new Set(header.slots.map(({ slot }) => slot));
  const number = Array.from({ length: MAX_SLOTS }, (_, index) => index).find((index) => !taken.has(index));
  if (number === undefined) {
    throw new Fault('conflict', `all ${MAX_SLOTS} key slots are taken`, { hint: 'remove one first' });
  }
  const added = await wrapMasterKey(sodium, header, number, credential, master, { created_at: now, label });
  return withSlots(header, master, [...header.slots, added]);
}

/**
 * Returns the header without a slot, whose credential then no longer opens the vault. The credential still opens older
 * copies of the file; only a new master key prevents its use on later ones. `named` is the slot's number or its label.
 * Throws `conflict` for the last slot.
 */
export async function removeSlot(header: VaultHeader, master: Uint8Array, named: number | string) {
  verifyHeader(await loadSodium(), header, master);
  const removed = listSlots(header).find(({ slot, label }) => named === slot || named === label);
  if (removed === undefined) {
    const what = typeof named === 'number' ? `there is no key slot ${named}` : 'no key slot has this label';
    throw new Fault('not_found', what, { hint: 'list them with `vault keys list`' });
  }
  const remaining = header.slots.filter(({ slot }) => slot !== removed.slot);
  if (remaining.length === 0) {
    throw new Fault('conflict', 'the last key slot cannot be removed', { hint: 'add another key first' });
  }
  return withSlots(header, master, remaining);
}
