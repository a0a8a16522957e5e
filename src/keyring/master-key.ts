import { randomFillSync, randomUUID } from 'node:crypto';
import { Fault } from '../core/fault.ts';
import type { Instant, Keyring, VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { CREDENTIAL_NAMES, type Credential, checkNewCredential } from './credential.ts';
import { checkHeaderShape, FORMAT, headerMac, verifyHeader } from './header-mac.ts';
import { openKeyring } from './keyring.ts';
import { decodeSlot, isBearable, unwrapMasterKey, wrapMasterKey } from './slot.ts';
import { loadSodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

export interface CreateKeyringOptions {
  readonly now: Instant;
  /** Accepts a passphrase of fewer than 12 characters. */
  readonly allowWeak?: boolean | undefined;
  /** The label of the slot: 1 to 40 characters. */
  readonly label?: string | undefined;
}

/**
 * Creates a new vault's keys: a random master key, wrapped for the credential in slot 0. Throws `weak_passphrase`, or
 * `usage` for a key of the wrong length.
 */
export async function createKeyring(
  credential: Credential,
  { now, allowWeak = false, label = '' }: CreateKeyringOptions,
): Promise<{ readonly keyring: Keyring; readonly header: VaultHeader }> {
  checkNewCredential(credential, allowWeak);
  const sodium = await loadSodium();
  const vault = { vault_id: randomUUID(), format: FORMAT, created_at: now, generation: 1 };
  const master = randomFillSync(new Uint8Array(KEY_BYTES));
  try {
    const slots = [await wrapMasterKey(sodium, vault, 0, credential, master, { created_at: now, label })];
    const header = { ...vault, slots, mac: headerMac(sodium, { ...vault, slots }, master) };
    return { keyring: openKeyring(sodium, header, master), header };
  } finally {
    master.fill(0);
  }
}

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

/** Returns the number of the slot that the credential opens, or undefined. */
export async function findSlot(header: VaultHeader, credential: Credential): Promise<number | undefined> {
  try {
    const { master, slot } = await openSlot(header, credential);
    master.fill(0);
    return slot;
  } catch (fault) {
    if (fault instanceof Fault && fault.code === 'wrong_credential') return undefined;
    throw fault;
  }
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

export interface FollowingKeyring extends Keyring {
  /** Rejects with `vault_locked` when the credential no longer opens the vault, as after a change by another process. */
  requireKey(): Promise<void>;
}

/**
 * Returns a keyring that keeps its credential. A served vault thus survives `vault keys rotate --master` by another
 * process: `refresh` unlocks the master key again when the header shows another generation. In memory, the credential
 * reveals no more than the master key does.
 */
export async function followMasterKey(
  header: VaultHeader,
  credential: Credential,
  readHeader: () => Promise<VaultHeader>,
): Promise<FollowingKeyring> {
  let { generation } = header;
  const opened = { mac: header.mac, slot: Promise.resolve<number | undefined>(0) };
  let checked = opened;
  const master = await unlockMasterKey(header, credential);
  try {
    const keyring = openKeyring(await loadSodium(), header, master, async () => {
      const found = await readHeader();
      if (found.generation === generation) return undefined;
      const next = { vault: found, master: await unlockAgain(found, credential) };
      ({ generation } = found);
      return next;
    });
    return {
      ...keyring,
      async requireKey() {
        const found = await readHeader();
        // Derives a key once for each header, because a passphrase is slow and anyone may call `/readyz`.
        if (Buffer.compare(found.mac, checked.mac) !== 0) {
          checked = { mac: found.mac, slot: findSlot(found, credential) };
          checked.slot.catch(() => {
            checked = opened;
          });
        }
        if ((await checked.slot) === undefined) throw new Problem('vault_locked');
        await keyring.refresh();
      },
    };
  } finally {
    master.fill(0);
  }
}

async function unlockAgain(header: VaultHeader, credential: Credential): Promise<Uint8Array> {
  try {
    return await unlockMasterKey(header, credential);
  } catch (cause) {
    if (cause instanceof Fault && cause.code === 'wrong_credential') throw new Problem('vault_locked', { cause });
    throw cause instanceof Fault ? new Problem('integrity_failure', { cause }) : cause;
  }
}
