import type { TenantKeyring } from '../ports.ts';
import { Problem } from '../problem.ts';
import type { ClearColumns } from '../tokens/clear-columns.ts';
import { isAtOrBelow, normalizeContainer } from '../tokens/containers.ts';
import { blindName, blindsByKey, foldCase } from '../tokens/indexes.ts';
import type { PresentedDetails } from '../tokens/token-codec.ts';
import type { Query } from './parse-query.ts';
import { inclusive, type Match } from './search-condition.ts';

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
      return MATCHES[query.field](query, keyring);
  }
}

function equal(read: (token: OpenedToken) => string | undefined) {
  return ({ value }: Match): Test =>
    (token) =>
      read(token) === value;
}

const MATCHES: { readonly [F in Match['field']]: (match: Match, keyring: TenantKeyring) => Test } = {
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
    return ({ details }) => details.containers.some((own) => (below ? isAtOrBelow(own, path) : own === path));
  },
};
