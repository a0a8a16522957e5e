import type { ListTokensQuery } from '../../contract/token.ts';
import { governingTransform } from '../access/governing-transform.ts';
import { visibility } from '../access/visibility.ts';
import type { Handler } from '../handler.ts';
import { pageOf, pageRequest } from '../page.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { foldCase } from './fold-case.ts';
import { metadataIndex } from './indexes.ts';
import { openDetails } from './opened-token.ts';
import { shownData, showToken } from './show-token.ts';

/** List Tokens (§4.1): members of one kind of filter are ORed, kinds are ANDed, and the caller's reach is part of the query. */
export const listTokens: Handler<'listTokens'> = async ({ query }, { tenant, grants }, world) => {
  const now = world.clock.now();
  const { keyring } = tenant;
  const filter = {
    tenant_id: tenant.record.id,
    all: conditionsOf(query, keyring),
    visible: visibility(grants, 'token:read', keyring),
  };
  const { records, total } = await world.store.findTokens(filter, pageRequest(query), now);
  const tokens = records.flatMap((record) => {
    const details = openDetails(keyring, record.id, record);
    const transform = governingTransform(grants, 'token:read', { id: record.id, containers: details.containers });
    // A blind index is 16 bytes of a hash: the opened values have the last word.
    if (!transform || !hasMetadata(details.metadata, query.metadata)) return [];
    return [showToken(record, details, shownData(keyring, record.id, record, transform))];
  });
  world.activity.note(records, now);
  return pageOf(query, total, tokens);
};

function conditionsOf({ id, type, metadata }: ListTokensQuery, keyring: TenantKeyring): TokenCondition[] {
  const conditions: TokenCondition[] = [];
  if (id) conditions.push({ id_in: id });
  if (type) conditions.push({ type_in: type });
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push({ index_in: [metadataIndex(keyring, key, value)] });
  }
  return conditions;
}

function hasMetadata(
  found: Readonly<Record<string, string>> = {},
  wanted: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(wanted).every(([key, value]) => {
    const text = Object.hasOwn(found, key) ? found[key] : undefined;
    return text !== undefined && foldCase(text) === foldCase(value);
  });
}
