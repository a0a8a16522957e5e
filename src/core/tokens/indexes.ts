import type { TenantKeyring, TokenIndexes } from '../ports.ts';
import { containerPrefixes } from './containers.ts';
import { foldCase } from './fold-case.ts';

/** The blind index of one metadata member: the key exactly, the value without regard to case (decisions §5). */
export function metadataIndex(keyring: TenantKeyring, key: string, value: string): Uint8Array {
  // The length keeps `a=b` + `c` apart from `a` + `b=c`.
  return keyring.blindIndex('metadata', `${key.length}:${key}=${foldCase(value)}`);
}

/** Everything that a token can be found by. */
export function tokenIndexes(
  keyring: TenantKeyring,
  token: {
    readonly fingerprint: string;
    readonly containers: readonly string[];
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    readonly search_values: readonly string[];
  },
): TokenIndexes {
  return {
    fingerprint: keyring.blindIndex('fingerprint', token.fingerprint),
    others: [
      ...containerPrefixes(token.containers).map((path) => keyring.blindIndex('container_prefix', path)),
      ...token.containers.map((path) => keyring.blindIndex('container', path)),
      ...Object.entries(token.metadata ?? {}).map(([key, value]) => metadataIndex(keyring, key, value)),
      ...[...new Set(token.search_values)].map((value) => keyring.blindIndex('search', value)),
    ],
  };
}
