import { untilSwapped } from '../../core/compare-and-swap.ts';
import type { KeysOfTenant } from '../../core/key-holder-ports.ts';
import type { VaultHeader } from '../../core/ports.ts';
import { isDamage, Problem } from '../../core/problem.ts';
import { noSuchTenant } from '../../core/tenants/no-such-tenant.ts';
import { formatInstant } from '../../core/time.ts';
import type { Credential } from '../../keyring/credential.ts';
import { findSlot, openSlot, unlockMasterKey } from '../../keyring/master-key.ts';
import { replaceMasterKey } from '../../keyring/replace-master-key.ts';
import { addSlot, listSlots, removeSlot } from '../../keyring/slots.ts';
import { requireSoundLog } from '../checks/closed-tenants.ts';
import type { KeyHolder } from '../key-holder.ts';
import { eachTenant, missingTenants, tenantIds } from '../tenants/each-tenant.ts';
import { findSoundTenant } from '../tenants/find-sound-tenant.ts';
import { changeAuthority } from './change-authority.ts';
import { headerEvent } from './header-event.ts';
import { type Progress, rotateTenant } from './rotate-tenant.ts';

/** A key slot as commands print it. */
export interface KeySlot extends Omit<ReturnType<typeof listSlots>[number], 'created_at'> {
  readonly created_at: string;
  /** Whether the credential of the key holder opens this slot. */
  readonly current: boolean;
}

export interface AddSlotOptions {
  readonly allowWeak: boolean;
  /** Distinguishes the slot from the vault's others. */
  readonly label?: string | undefined;
}

interface VaultKeysParts extends KeyHolder {
  /** Opens one of the slots. */
  readonly credential: Credential;
  /** Awaited between two batches of a rotation, so that other users of the store go first. */
  readonly yieldToLoop: () => Promise<void>;
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
  const { store, keyring, clock, follower, audit, credential } = parts;

  async function slotsOf(header: VaultHeader): Promise<readonly KeySlot[]> {
    const { master, slot: current } = await openSlot(header, credential);
    master.fill(0);
    return listSlots(header).map((slot) => ({
      ...slot,
      created_at: formatInstant(slot.created_at),
      current: slot.slot === current,
    }));
  }

  async function slotOnlyIn(header: VaultHeader, other: VaultHeader): Promise<KeySlot> {
    const known = new Set(other.slots.map(({ slot }) => slot));
    const found = (await slotsOf(header)).find(({ slot }) => !known.has(slot));
    if (found === undefined) throw new Error('unreachable: the slot is in the header');
    return found;
  }

  /**
   * Applies a change of the slots, which needs the master key, to the current header. Returns the headers before and
   * after it.
   */
  async function changeSlots(
    action: 'addSlot' | 'removeSlot',
    change: (header: VaultHeader, master: Uint8Array) => Promise<VaultHeader>,
  ): Promise<readonly [VaultHeader, VaultHeader]> {
    return untilSwapped(async () => {
      const before = await store.header();
      const master = await unlockMasterKey(before, credential);
      const after = await change(before, master).finally(() => master.fill(0));
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
      const { header, tenants } = await replaceMasterKey(before, credential, keys, clock.now());
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
    /** Returns the slots. Rejects with `integrity_failure` for an older header that was put back. */
    slots: async () => {
      await requireSoundLog(follower);
      return slotsOf(await store.header());
    },

    /** Adds a slot and returns it. Throws as `addSlot` of the keyring does. */
    async addSlot(added: Credential, options: AddSlotOptions): Promise<KeySlot> {
      const [before, after] = await changeSlots('addSlot', (header, master) =>
        addSlot(header, master, added, { ...options, now: clock.now() }),
      );
      return slotOnlyIn(after, before);
    },

    isOpenedBy: async (other: Credential) => (await findSlot(await store.header(), other)) !== undefined,

    /**
     * Removes the slot with this number or label and returns it. Throws the fault `conflict` for the last slot, or
     * `not_found` for an unknown one.
     */
    async removeSlot(named: number | string): Promise<KeySlot> {
      const [before, after] = await changeSlots('removeSlot', (header, master) => removeSlot(header, master, named));
      return slotOnlyIn(before, after);
    },

    /**
     * Returns the keys of the vault, without their bytes. `generation` is the number of the master key; each new master
     * key adds 1. `stale` is the number of records that an unfinished rotation has left under older keys. Skips damaged
     * tenants, and names them in `damaged`.
     */
    async status() {
      await requireSoundLog(follower);
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
      await tenantIds(parts, tenantId);
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
