import type { Store, WrappedKey } from '../core/ports.ts';
import { formatInstant } from '../core/time.ts';

/** The keys of a vault, without their bytes. */
export interface KeyStatus {
  readonly vault_id: string;
  /** Of the master key: one more with each new one. */
  readonly generation: number;
  readonly slots: number;
  readonly tenants: readonly TenantKeyStatus[];
}

export interface TenantKeyStatus {
  readonly tenant_id: string;
  readonly keys: readonly {
    readonly key_id: number;
    readonly purpose: WrappedKey['purpose'];
    readonly created_at: string;
  }[];
  /** Records that an unfinished rotation has left under older keys. */
  readonly stale: number;
}

export async function keyStatus(store: Store): Promise<KeyStatus> {
  const { vault_id, generation, slots } = await store.header();
  const tenants: TenantKeyStatus[] = [];
  for (const { tenant, keys } of await store.listTenants()) {
    const newest = (purpose: WrappedKey['purpose']) =>
      Math.max(...keys.filter((key) => key.purpose === purpose).map((key) => key.key_id));
    const stale = await store.countStale(tenant.id, { key_id: newest('data'), index_key_id: newest('index') });
    const shown = keys.map(({ key_id, purpose, created_at }) => ({
      key_id,
      purpose,
      created_at: formatInstant(created_at),
    }));
    tenants.push({ tenant_id: tenant.id, keys: shown, stale });
  }
  return { vault_id, generation, slots: slots.length, tenants };
}
