import { addDigests, encodeDigest } from '../../core/audit/record-digest.ts';
import type { FileStore } from '../../store/sqlite/sqlite-store.ts';
import type { RemovedToken } from '../../store/sqlite/tables/tenant-rows.ts';
import { type DamagedTenants, eachTenant } from '../tenants/each-tenant.ts';
import { type RotateTenantOptions, type RotationParts, rotateTenant } from './rotate-tenant.ts';

type ResetParts = RotationParts & { readonly store: FileStore };

/** The result of a reset. */
export interface ResetResult extends DamagedTenants {
  readonly removed_tokens: number;
}

/**
 * Removes all tokens of one tenant or of all tenants, and resolves to their number. Of all tenants, skips damaged ones;
 * throws `integrity_failure` if the given tenant is damaged. Replaces the data keys in the same step, so that no key
 * opens an older row of a token: a new token may have the same id and revision. Throws `not_found` for an unknown
 * tenant. A killed run has removed the tokens of a tenant and its keys, or neither.
 */
export async function resetTokens(parts: ResetParts, tenantId: string | undefined): Promise<ResetResult> {
  const { store, keyring, audit } = parts;
  let removed_tokens = 0;
  const { done: _, ...damaged } = await eachTenant(parts, tenantId, async (id) => {
    const tokensRemoved = (tokens: Iterable<RemovedToken>) => {
      let sum = 0n;
      for (const record of tokens) sum = addDigests(sum, keyring.recordHash({ ...record, tenant_id: id }));
      return audit.draft({ action: 'resetTokens', status: 200, tenant_id: id, entities: [encodeDigest(sum)] });
    };
    const removeTokens: RotateTenantOptions['removeTokens'] = async (replaced, keyRemoved) => {
      removed_tokens += await store.removeAllTokens(id, replaced, { tokensRemoved, keyRemoved });
    };
    return rotateTenant(parts, id, { indexes: false, removeTokens }, () => undefined);
  });
  return { removed_tokens, ...damaged };
}
