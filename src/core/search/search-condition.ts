import { TOKEN_TYPE_NAMES } from '../../contract/token-types.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { madeBy, modifiedIn } from '../tokens/clear-columns.ts';
import { normalizeContainer } from '../tokens/containers.ts';
import { foldCase, indexed, metadataText } from '../tokens/indexes.ts';
import type { Query } from './parse-query.ts';

export type Match = Extract<Query, { readonly kind: 'match' }>;
type Range = Extract<Query, { readonly kind: 'range' }>;

/**
 * Returns the store conditions of a query, all of which must hold. They find exactly the tokens that match the query.
 */
export function searchCondition(query: Query, keyring: TenantKeyring): readonly TokenCondition[] {
  return query.kind === 'and' ? query.parts.map((part) => conditionOf(part, keyring)) : [conditionOf(query, keyring)];
}

function conditionOf(query: Query, keyring: TenantKeyring): TokenCondition {
  switch (query.kind) {
    case 'and':
      return { every: query.parts.map((part) => conditionOf(part, keyring)) };
    case 'or':
      return anyOf(query.parts.map((part) => conditionOf(part, keyring)));
    case 'not':
      return { not: conditionOf(query.part, keyring) };
    case 'range':
      return RANGES[query.field](query);
    default:
      return MATCHES[query.field](query, keyring);
  }
}

/** Returns the condition that at least one part holds. Parts that the same index answers form one condition. */
function anyOf(parts: readonly TokenCondition[]): TokenCondition {
  const blinds = parts.flatMap((part) => ('index_in' in part ? [part.index_in] : []));
  if (blinds.length === parts.length) return { index_in: blinds.flat() };
  const ids = parts.flatMap((part) => ('id_in' in part ? [part.id_in] : []));
  if (ids.length === parts.length) return { id_in: ids.flat() };
  const types = parts.flatMap((part) => ('type_in' in part ? [part.type_in] : []));
  return types.length === parts.length ? { type_in: types.flat() } : { some: parts };
}

const MATCHES: { readonly [F in Match['field']]: (match: Match, keyring: TenantKeyring) => TokenCondition } = {
  data: ({ value }, keyring) => indexed(keyring, 'search', foldCase(value)),
  metadata: ({ key = '', value }, keyring) => indexed(keyring, 'metadata', metadataText(key, value)),
  id: ({ value }) => ({ id_in: [value] }),
  fingerprint: ({ value }, keyring) => indexed(keyring, 'fingerprint', value),
  type: ({ value }) => ({ type_in: TOKEN_TYPE_NAMES.filter((name) => name === value) }),
  created_by: ({ value }) => madeBy('created_by', value),
  modified_by: ({ value }) => madeBy('modified_by', value),
  container({ value, below }, keyring) {
    const path = normalizeContainer(value);
    if (!below) return indexed(keyring, 'container', path);
    // Every container is below the root.
    return path === '/' ? { every: [] } : indexed(keyring, 'container_prefix', path);
  },
};

const RANGES: { readonly [F in Range['field']]: (range: Range) => TokenCondition } = {
  created_at: (range) => ({ created_in: inclusive(range) }),
  modified_at: (range) => modifiedIn(inclusive(range)),
  expires_at: (range) => ({ expires_in: inclusive(range) }),
};

/** Returns a range with both bounds. */
export function inclusive({ from = 0, fromInclusive, to = Number.MAX_SAFE_INTEGER, toInclusive }: Range) {
  return { from: fromInclusive ? from : from + 1, to: toInclusive ? to : to - 1 };
}
