import type { IndexPurpose, TenantKeyring, TokenCondition } from '../ports.ts';
import { containerPrefixes } from './containers.ts';

/** What of one metadata member is looked for: the key exactly, the value without regard to case (decisions §5). */
export function metadataText(key: string, value: string): string {
  // The length keeps `a=b` + `c` apart from `a` + `b=c`.
  return `${key.length}:${key}=${foldCase(value)}`;
}

/** The tokens that have a value: found under each index key that a token may still be found by. */
export function indexed(keyring: TenantKeyring, purpose: IndexPurpose, value: string): TokenCondition {
  return { index_in: [keyring, ...keyring.formerIndexKeys].map((key) => key.blindIndex(purpose, value)) };
}

/** What a token can be found by besides its fingerprint. */
export function otherIndexes(
  keyring: TenantKeyring,
  containers: readonly string[],
  metadata: Readonly<Record<string, string>> = {},
  searchValues: readonly string[],
): readonly Uint8Array[] {
  return [
    ...containerPrefixes(containers).map((path) => keyring.blindIndex('container_prefix', path)),
    ...containers.map((path) => keyring.blindIndex('container', path)),
    ...Object.entries(metadata).map(([key, value]) => keyring.blindIndex('metadata', metadataText(key, value))),
    ...[...new Set(searchValues)].map((value) => keyring.blindIndex('search', value)),
  ];
}

/**
 * Text for comparing without regard to case: upper before lower, so that ß meets SS and ſ meets s, and in one normal form.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}
