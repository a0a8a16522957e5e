import { TOKEN_TYPE_NAMES } from '../../contract/token-types.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { Problem } from '../problem.ts';
import { type ClearColumns, madeBy, modifiedIn } from '../tokens/clear-columns.ts';
import { normalizeContainer } from '../tokens/containers.ts';
import { blindName, blindsByKey, foldCase, indexed, metadataText } from '../tokens/indexes.ts';
import type { PresentedDetails } from '../tokens/token-codec.ts';
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
      return CONDITIONS[query.field](query, keyring);
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

const CONDITIONS: { readonly [F in Match['field']]: (match: Match, keyring: TenantKeyring) => TokenCondition } = {
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
function inclusive({ from = 0, fromInclusive, to = Number.MAX_SAFE_INTEGER, toInclusive }: Range) {
  return { from: fromInclusive ? from : from + 1, to: toInclusive ? to : to - 1 };
}

/** The opened values of a token that queries compare. */
export interface OpenedToken {
  readonly id: string;
  readonly columns: ClearColumns;
  readonly details: PresentedDetails;
}

type Test = (token: OpenedToken) => boolean;

/**
 * Returns the function that decides whether a token matches a query, by its opened values alone. Values of search
 * indexes are compared by the sealed blind indexes, so that no data is opened. Throws `integrity_failure` for a token
 * whose index key is unknown.
 */
export function queryTest(query: Query, keyring: TenantKeyring): Test {
  switch (query.kind) {
    case 'and': {
      const tests = query.parts.map((part) => queryTest(part, keyring));
      return (token) => tests.every((test) => test(token));
    }
    case 'or': {
      const tests = query.parts.map((part) => queryTest(part, keyring));
      return (token) => tests.some((test) => test(token));
    }
    case 'not': {
      const test = queryTest(query.part, keyring);
      return (token) => !test(token);
    }
    case 'range': {
      const { field } = query;
      const { from, to } = inclusive(query);
      return ({ columns }) => {
        const at = columns[field];
        return at !== undefined && from <= at && at <= to;
      };
    }
    default:
      return TESTS[query.field](query, keyring);
  }
}

function equal(read: (token: OpenedToken) => string | undefined) {
  return ({ value }: Match): Test =>
    (token) =>
      read(token) === value;
}

const TESTS: { readonly [F in Match['field']]: (match: Match, keyring: TenantKeyring) => Test } = {
  data({ value }, keyring) {
    const blinds = blindsByKey(keyring, 'search', foldCase(value));
    return ({ columns, details }) => {
      const blind = blinds.get(columns.index_key_id);
      if (blind === undefined) throw new Problem('integrity_failure');
      // Names have the same length and contain no space.
      return details.searched?.includes(blindName(blind)) === true;
    };
  },
  metadata({ key = '', value }) {
    const folded = foldCase(value);
    return ({ details }) => {
      // sealToken sealed this text, so its values are strings. `JSON.parse` is faster than the vault's parser and reads
      // strings without loss.
      const metadata: Readonly<Record<string, string>> = JSON.parse(details.metadata?.text ?? '{}');
      const own = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
      return own !== undefined && foldCase(own) === folded;
    };
  },
  id: equal(({ id }) => id),
  fingerprint: equal(({ details }) => details.fingerprint),
  type: equal(({ columns }) => columns.type),
  created_by: equal(({ columns }) => columns.created_by),
  modified_by: equal(({ columns }) => columns.modified_by),
  container({ value, below }) {
    const path = normalizeContainer(value);
    return ({ details }) => details.containers.some((own) => (below ? own.startsWith(path) : own === path));
  },
};
