import { parseJson } from '../json/parse.ts';
import type { ResealedToken } from '../maintenance-ports.ts';
import type { TenantKeyring, TokenRecord } from '../ports.ts';
import { derive } from '../tokens/derive.ts';
import { tokenIndexes } from '../tokens/indexes.ts';
import { openDefinition, openDetails, openText, sealToken } from '../tokens/opened-token.ts';

/**
 * A token under its tenant's newest keys: the same revision with the same contents. When its index key is an older one, the
 * fingerprint and the blind indexes are computed anew. Throws `integrity_failure` for one that does not open.
 */
export async function resealToken(keyring: TenantKeyring, before: TokenRecord): Promise<ResealedToken> {
  const { id, type } = before;
  const details = openDetails(keyring, id, before);
  const definition = openDefinition(keyring, id, before);
  const data = openText(keyring, id, before, 'data');
  const masked = openText(keyring, id, before, 'masked');
  if (data === undefined) throw new Error('unreachable: every token has data');
  if (before.index_key_id === keyring.keyIds.index_key_id) {
    return { before, after: sealToken(keyring, before, { data, masked, details, definition }) };
  }
  const { containers, metadata } = details;
  const derived = await derive(keyring, { type, data: parseJson(data), metadata, definition });
  const renewed = { ...details, fingerprint: derived.fingerprint };
  const after = sealToken(keyring, before, { data, masked, details: renewed, definition });
  return { before, after, indexes: tokenIndexes(keyring, derived, { containers, metadata }) };
}
