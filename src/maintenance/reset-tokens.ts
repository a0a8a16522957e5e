import type { FileStore } from '../core/maintenance-ports.ts';
import { tenantIds } from './key-holder.ts';
import { type RotationParts, rotateTenant } from './rotate-tenant.ts';

type ResetParts = RotationParts & { readonly store: FileStore };

/**
 * Removes all tokens of one tenant or of all tenants, and returns their number. Then replaces the data keys, so that
 * no key opens an older row of a token: a new token may have the same id and revision. Throws `not_found` for an unknown
 * tenant. After a killed run, call it again to replace the keys.
 */
export async function resetTokens(parts: ResetParts, tenantId: string | undefined): Promise<number> {
  const { store, follower, audit } = parts;
  await follower.follow();
  const ids = await tenantIds(store, tenantId);
  const entry = (tenant_id: string) => audit.draft({ action: 'resetTokens', status: 200, tenant_id, entities: [] });
  const removed = await store.removeAllTokens(ids, entry);
  const rotate = (id: string) => rotateTenant(parts, id, { indexes: false }, () => undefined);
  for (const id of ids) {
    const rotated = await rotate(id);
    // The key of an unfinished rotation may have sealed removed tokens, so replace that key, too.
    if (rotated?.resumed) await rotate(id);
  }
  return removed;
}
