import type { IndexPurpose, TenantKeyring, TokenCondition, TokenIndexes, TokenRecord } from '../ports.ts';
import { Problem } from '../problem.ts';
import { containerPrefixes } from './containers.ts';

/** Returns the indexed form of one metadata member: the exact key, the value without case (decisions §5). */
export function metadataText(key: string, value: string): string {
  // The length keeps `a=b` + `c` apart from `a` + `b=c`.
  return `${key.length}:${key}=${foldCase(value)}`;
}

/** Returns the condition for tokens with a value, under each index key in use. */
export function indexed(
  keyring: TenantKeyring,
  purpose: IndexPurpose,
  value: string,
): Extract<TokenCondition, { readonly index_in: unknown }> {
  return { index_in: [keyring, ...keyring.formerIndexKeys].map((key) => key.blindIndex(purpose, value)) };
}

/** Returns the blind indexes of containers and their prefixes. */
export function containerIndexes(keyring: TenantKeyring, containers: readonly string[]): readonly Uint8Array[] {
  return [
    ...containerPrefixes(containers).map((path) => keyring.blindIndex('container_prefix', path)),
    ...containers.map((path) => keyring.blindIndex('container', path)),
  ];
}

/** Returns the blind indexes of metadata and search values. */
export function otherIndexes(
  keyring: TenantKeyring,
  metadata: Readonly<Record<string, string>> = {},
  searchValues: readonly string[],
): readonly Uint8Array[] {
  return [
    ...Object.entries(metadata).map(([key, value]) => keyring.blindIndex('metadata', metadataText(key, value))),
    ...[...new Set(searchValues.map(foldCase))].map((value) => keyring.blindIndex('search', value)),
  ];
}

/** Returns the blind indexes that find duplicates: of the fingerprint, under each index key. */
export function fingerprintsOf({ fingerprint, former = [] }: TokenIndexes): readonly Uint8Array[] {
  return [fingerprint, ...former];
}

/**
 * Checks a token found by one of these blind indexes of a fingerprint. An index can be edited without a key, so the
 * opened fingerprint decides. Throws `integrity_failure` when it has none of the indexes.
 */
export function requireFingerprint(
  keyring: TenantKeyring,
  { index_key_id }: TokenRecord,
  fingerprint: string,
  blinds: readonly Uint8Array[],
): void {
  const own = underIndexKey(keyring, index_key_id).blindIndex('fingerprint', fingerprint);
  if (!blinds.some((blind) => Buffer.compare(blind, own) === 0)) throw new Problem('integrity_failure');
}

/** Returns the keyring with the index key of a token: an older one during a rotation. Throws `integrity_failure`. */
export function underIndexKey(keyring: TenantKeyring, indexKeyId: number): TenantKeyring {
  if (keyring.keyIds.index_key_id === indexKeyId) return { ...keyring, formerIndexKeys: [] };
  const former = keyring.formerIndexKeys.find((key) => key.key_id === indexKeyId);
  if (former === undefined) throw new Problem('integrity_failure');
  return { ...keyring, blindIndex: former.blindIndex, fingerprint: former.fingerprint, formerIndexKeys: [] };
}

/**
 * Normalizes text for comparison without case: upper before lower, so that ß equals SS and ſ equals s, and in one
 * normal form.
 */
export function foldCase(text: string): string {
  return text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}
