import { withFreshKeys } from '../../core/fresh-keys.ts';
import type { WrappedKey } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { type OpenedTenant, openTenant } from '../../core/tenants/tenant-codec.ts';
import type { KeyHolder } from '../key-holder.ts';

/** A tenant that can be decrypted, and its keys, both in the state that the log names. */
export interface SoundTenant extends OpenedTenant {
  readonly keys: readonly WrappedKey[];
}

/**
 * Resolves to a tenant, or to undefined if it does not exist. Rejects with `integrity_failure` if its row or its keys
 * are damaged or differ from the log, or if it is closed.
 */
export function findSoundTenant(
  { store, keyring, follower }: Pick<KeyHolder, 'store' | 'keyring' | 'follower'>,
  id: string,
): Promise<SoundTenant | undefined> {
  return withFreshKeys(keyring, async () => {
    await follower.follow();
    const found = await store.findTenant(id);
    if (found === undefined) return undefined;
    const { tenant, keys } = found;
    const read = { ...tenant, tenant_id: id, keys: keys.map(({ key_id }) => key_id) };
    // The tenant has changed since it was read.
    if (!(await follower.isCurrent('tenant', read))) throw new Problem('write_conflict');
    return { ...openTenant(keyring.openTenant(id, keys), id, tenant), keys };
  });
}
