import { untilSwapped } from '../core/compare-and-swap.ts';
import type { KeysOfTenant } from '../core/maintenance-ports.ts';
import type { Instant, VaultHeader } from '../core/ports.ts';
import { isDamage, Problem } from '../core/problem.ts';
import { noSuchTenant } from '../core/tenants/no-such-tenant.ts';
import { formatInstant } from '../core/time.ts';
import type { Credential } from '../keyring/credential.ts';
import { changeAuthority } from './change-authority.ts';
import { eachTenant, missingTenants } from './each-tenant.ts';
import { findSoundTenant } from './find-sound-tenant.ts';
import { headerEvent } from './header-event.ts';
import { type KeyHolder, tenantIds } from './key-holder.ts';
import { type Progress, rotateTenant } from './rotate-tenant.ts';

/** The number or the label of a slot. */
type SlotName = number | string;

export interface SlotFacts {
  readonly slot: number;
  readonly kind: Credential['kind'];
  readonly created_at: Instant;
  readonly label?: string;
  /** Whether the given credential opens this slot. */
  readonly current: boolean;
}

/** A key slot as commands print it. */
export type Slot = Omit<SlotFacts, 'created_at'> & { readonly created_at: string };

/**
 * Reads and changes the slots and the master key of a header, with a credential that opens one of the slots. Throws
 * `wrong_credential` if it opens none.
 */
export interface HeaderKeys {
  /** Returns the slots in order of number. */
  listSlots(header: VaultHeader): Promise<readonly SlotFacts[]>;
  /**
   * Returns the header with one more slot. Throws the fault `conflict` when all slots or the label are taken, or
   * `weak_passphrase`.
   */
  addSlot(
    header: VaultHeader,
    added: Credential,
    options: AddSlotOptions & { readonly now: Instant },
  ): Promise<VaultHeader>;
  /**
   * Returns the header without the slot. Throws the fault `conflict` for the last slot, or `not_found` for an unknown
   * one.
   */
  removeSlot(header: VaultHeader, named: SlotName): Promise<VaultHeader>;
  isOpenedBy(header: VaultHeader, credential: Credential): Promise<boolean>;
  /** Creates a new master key, and wraps all keys of all tenants under it. Keeps only the slot of the credential. */
  replaceMasterKey(
    header: VaultHeader,
    keys: readonly KeysOfTenant[],
    now: Instant,
  ): Promise<{ readonly header: VaultHeader; readonly tenants: readonly KeysOfTenant[] }>;
}

export interface AddSlotOptions {
  readonly allowWeak: boolean;
  /** Distinguishes the slot from the vault's others. */
  readonly label?: string | undefined;
}

export interface VaultKeysParts extends KeyHolder {
  readonly headerKeys: HeaderKeys;
  /** Awaited between two batches of a rotation, so that other users of the store get their turn. */
  readonly rest: () => Promise<void>;
}

export interface RotateOptions {
  /** The tenant whose keys are rotated. Default: all tenants. */
  readonly tenantId?: string | undefined;
  /** Rotates index keys, too: fingerprints change. */
  readonly indexes: boolean;
  /** Creates a new master key first. */
  readonly master: boolean;
}

/**
 * The maximum number of attempts to change the header. Other processes rarely change it, and an attempt may be slow,
 * since it may derive a key from a passphrase.
 */
const MAX_TRIES = 5;

/** Returns the functions of `vault keys`, for the holder of a vault's key. */
export function vaultKeys(parts: VaultKeysParts) {
  const { store, keyring, clock, follower, audit, headerKeys } = parts;

  async function slotsOf(header: VaultHeader): Promise<readonly Slot[]> {
    const slots = await headerKeys.listSlots(header);
    return slots.map((slot) => ({ ...slot, created_at: formatInstant(slot.created_at) }));
  }

  async function slotOnlyIn(header: VaultHeader, other: VaultHeader): Promise<Slot> {
    const known = new Set(other.slots.map(({ slot }) => slot));
    const found = (await slotsOf(header)).find(({ slot }) => !known.has(slot));
    if (found === undefined) throw new Error('unreachable: the slot is in the header');
    return found;
  }

  /** Applies a change of the slots to the current header. Returns the headers before and after it. */
  async function changeSlots(
    action: 'addSlot' | 'removeSlot',
    change: (header: VaultHeader) => Promise<VaultHeader>,
  ): Promise<readonly [VaultHeader, VaultHeader]> {
    return untilSwapped(async () => {
      const before = await store.header();
      const after = await change(before);
      const entry = () => audit.draftAuthority(headerEvent(action, after, before));
      const isReplaced = await changeAuthority(parts, () => store.replaceHeader(after, before, entry()));
      return isReplaced ? ([before, after] as const) : undefined;
    }, MAX_TRIES);
  }

  /** Resolves to whether a tenant still has these keys. */
  async function isSameTenant(id: string, keys: readonly number[]): Promise<boolean> {
    const found = await store.findTenant(id);
    return found?.keys.map(({ key_id }) => key_id).join() === keys.join();
  }

  /** Resolves to the keys of all tenants. A master key is replaced for all of them, or not at all. */
  async function allKeys(): Promise<readonly KeysOfTenant[]> {
    const all: KeysOfTenant[] = [];
    const refused = (tenant_id: string, what: string, cause?: unknown) => {
      const detail = `The keys of tenant ${tenant_id} ${what}, so the master key was not replaced.`;
      return new Problem('integrity_failure', { detail, cause });
    };
    for (const id of await missingTenants(parts)) throw refused(id, 'are not found');
    for (const tenant_id of await store.listTenantIds()) {
      const found = await store.findTenant(tenant_id).catch((cause: unknown) => {
        throw isDamage(cause) ? refused(tenant_id, 'cannot be read', cause) : cause;
      });
      if (found === undefined) continue;
      const ids = found.keys.map(({ key_id }) => key_id);
      await follower.follow();
      // Another process may have added or removed a key after the read.
      if (!follower.hasKeys(tenant_id, ids) && (await isSameTenant(tenant_id, ids))) {
        throw refused(tenant_id, 'differ from the audit');
      }
      all.push({ tenant_id, keys: found.keys });
    }
    return all;
  }

  /** Replaces the master key. Returns the numbers of the slots that this has removed. */
  async function replaceMaster(): Promise<readonly number[]> {
    return untilSwapped(async () => {
      const before = await store.header();
      const keys = await allKeys();
      const { header, tenants } = await headerKeys.replaceMasterKey(before, keys, clock.now());
      const entry = () => audit.draftAuthority(headerEvent('replaceMasterKey', header, before));
      if (!(await changeAuthority(parts, () => store.replaceMasterKey(header, before, tenants, entry())))) {
        return undefined;
      }
      await keyring.refresh();
      const kept = new Set(header.slots.map(({ slot }) => slot));
      return before.slots.map(({ slot }) => slot).filter((slot) => !kept.has(slot));
    }, MAX_TRIES);
  }

  return {
    slots: async () => slotsOf(await store.header()),

    /** Adds a slot and returns it. Throws as `HeaderKeys.addSlot` does. */
    async addSlot(added: Credential, options: AddSlotOptions): Promise<Slot> {
      const [before, after] = await changeSlots('addSlot', (header) =>
        headerKeys.addSlot(header, added, { ...options, now: clock.now() }),
      );
      return slotOnlyIn(after, before);
    },

    isOpenedBy: async (credential: Credential) => headerKeys.isOpenedBy(await store.header(), credential),

    /**
     * Removes a slot and returns it. Throws the fault `conflict` for the last slot, or `not_found` for an unknown one.
     */
    async removeSlot(named: SlotName): Promise<Slot> {
      const [before, after] = await changeSlots('removeSlot', (header) => headerKeys.removeSlot(header, named));
      return slotOnlyIn(before, after);
    },

    /**
     * Returns the keys of the vault, without their bytes. `generation` is the number of the master key; each new master
     * key adds 1. `stale` is the number of records that an unfinished rotation has left under older keys. Skips damaged
     * tenants, and names them in `damaged`.
     */
    async status() {
      const { vault_id, generation, slots } = await store.header();
      const { done: tenants, ...damaged } = await eachTenant(parts, undefined, async (tenant_id) => {
        const found = await findSoundTenant(parts, tenant_id);
        if (found === undefined) return undefined;
        const stale = await store.countStale(tenant_id, found.keyring.keyIds);
        const keys = found.keys.map(({ key_id, purpose, created_at }) => {
          return { key_id, purpose, created_at: formatInstant(created_at) };
        });
        return { tenant_id, keys, stale };
      });
      return { vault_id, generation, slots: slots.length, tenants, ...damaged };
    },

    /**
     * Rotates keys. `removed_slots` are the slots that a new master key has removed. Without `tenantId`, skips damaged
     * tenants, and names them in `damaged`. Throws `not_found` for an unknown tenant, and `integrity_failure` as
     * `rotateTenant` does, or if the keys of a tenant cannot be wrapped under a new master key.
     */
    async rotate({ tenantId, indexes, master }: RotateOptions, progress: Progress = () => undefined) {
      await tenantIds(store, tenantId);
      const removed_slots = master ? await replaceMaster() : [];
      const rotateOne = (id: string) => rotateTenant(parts, id, { indexes }, progress);
      const { done: tenants, ...damaged } = await eachTenant(parts, tenantId, async (id) => {
        const rotated = await rotateOne(id);
        // The former master key wrapped the key of the unfinished run, so replace that key, too.
        return rotated?.resumed && master ? rotateOne(id) : rotated;
      });
      if (tenantId !== undefined && tenants.length === 0) throw noSuchTenant();
      return { generation: (await store.header()).generation, removed_slots, tenants, ...damaged };
    },
  };
}
