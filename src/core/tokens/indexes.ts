import type { IndexPurpose, TenantKeyring, TokenCondition, TokenIndexes } from '../ports.ts';
import { containerPrefixes } from './containers.ts';
import type { Derived } from './derive.ts';
import { foldCase } from './fold-case.ts';
import type { TokenDetails } from './opened-token.ts';

/** What of one metadata member is looked for: the key exactly, the value without regard to case (decisions §5). */
export function metadataText(key: string, value: string): string {
  // The length keeps `a=b` + `c` apart from `a` + `b=c`.
  return `${key.length}:${key}=${foldCase(value)}`;
}

/** The tokens that have a value: found under each index key that a token may still be found by. */
export function indexed(keyring: TenantKeyring, purpose: IndexPurpose, value: string): TokenCondition {
  return { index_in: [keyring, ...keyring.formerIndexKeys].map((key) => key.blindIndex(purpose, value)) };
}

/** Everything that a token can be found by. */
export function tokenIndexes(
  keyring: TenantKeyring,
  derived: Omit<Derived, 'masked'>,
  token: Pick<TokenDetails, 'containers' | 'metadata'>,
): TokenIndexes {
  return {
    fingerprint: keyring.blindIndex('fingerprint', derived.fingerprint),
    others: [
      ...containerPrefixes(token.containers).map((path) => keyring.blindIndex('container_prefix', path)),
      ...token.containers.map((path) => keyring.blindIndex('container', path)),
      ...Object.entries(token.metadata ?? {}).map(([key, value]) =>
        keyring.blindIndex('metadata', metadataText(key, value)),
      ),
      ...[...new Set(derived.search_values)].map((value) => keyring.blindIndex('search', value)),
    ],
    former: derived.former,
  };
}
