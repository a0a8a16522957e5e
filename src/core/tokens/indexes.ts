import type { IndexPurpose, TenantKeyring, TokenIndexes, TokenRecord } from '../ports.ts';
import { Problem } from '../problem.ts';
import { containerPrefixes } from './containers.ts';
import type { TokenDetails } from './token-codec.ts';

/** Matches texts that are equal in all normal forms. */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Returns the indexed text of one metadata member: the exact key and the case-folded value (decisions §5). */
export function metadataText(key: string, value: string): string {
  // The length distinguishes the key `a=b` with the value `c` from the key `a` with the value `b=c`.
  return `${key.length}:${key}=${foldCase(value)}`;
}

/** Returns the blind indexes of a value by the id of their index key, for each index key in use. */
export function blindsByKey(keyring: TenantKeyring, purpose: IndexPurpose, value: string) {
  const own = { key_id: keyring.keyIds.index_key_id, blindIndex: keyring.blindIndex };
  return new Map(
    [own, ...keyring.formerIndexKeys].map(({ key_id, blindIndex }) => [key_id, blindIndex(purpose, value)]),
  );
}

/** Returns `TokenDetails.searched` for the blind indexes of search values. */
export function joinNames(blinds: readonly Uint8Array[]): string | undefined {
  return blinds.length === 0 ? undefined : blinds.map(blindName).join(' ');
}

/** Returns the condition for tokens with a value. It covers each index key in use. */
export function indexed(keyring: TenantKeyring, purpose: IndexPurpose, value: string) {
  return { index_in: [...blindsByKey(keyring, purpose, value).values()] };
}

/** Returns the text that stands for a blind index in a sealed value: 22 characters without spaces. */
export function blindName(blind: Uint8Array): string {
  return Buffer.from(blind.buffer, blind.byteOffset, blind.length).toString('base64url');
}

/** Returns the blind indexes of containers and their prefixes. */
export function containerIndexes(keyring: TenantKeyring, containers: readonly string[]): readonly Uint8Array[] {
  return [
    ...containerPrefixes(containers).map((path) => keyring.blindIndex('container_prefix', path)),
    ...containers.map((path) => keyring.blindIndex('container', path)),
  ];
}

export function metadataIndexes(
  keyring: TenantKeyring,
  metadata: TokenDetails['metadata'] = {},
): readonly Uint8Array[] {
  return Object.entries(metadata).map(([key, value]) => keyring.blindIndex('metadata', metadataText(key, value)));
}

export function searchIndexes(keyring: TenantKeyring, values: readonly string[]): readonly Uint8Array[] {
  return [...new Set(values.map(foldCase))].map((value) => keyring.blindIndex('search', value));
}

/**
 * Returns the names of all blind indexes of a token, that of the fingerprint first. They follow from its sealed values
 * and its index key, so an altered list or entry of the store differs from them.
 */
export function sealedIndexes(
  keyring: TenantKeyring,
  indexKeyId: number,
  { fingerprint, containers, metadata, searched }: TokenDetails,
): ReadonlySet<string> {
  const under = underIndexKey(keyring, indexKeyId);
  const blinds = [
    under.blindIndex('fingerprint', fingerprint),
    ...containerIndexes(under, containers),
    ...metadataIndexes(under, metadata),
  ];
  return new Set([...blinds.map(blindName), ...(searched?.split(' ') ?? [])]);
}

/** Returns whether the stored blind indexes of a token are its sealed ones, with that of the fingerprint first. */
export function areSealed(stored: readonly Uint8Array[], sealed: ReadonlySet<string>): boolean {
  const names = new Set(stored.map(blindName));
  const isSame = stored.length === sealed.size && [...sealed].every((name) => names.has(name));
  return isSame && [...names][0] === [...sealed][0];
}

/** Returns the blind indexes of a fingerprint, under each index key, for a search for duplicates. */
export function fingerprintsOf({ fingerprint, former = [] }: TokenIndexes): readonly Uint8Array[] {
  return [fingerprint, ...former];
}

/** Returns whether the opened fingerprint of a token has one of these blind indexes, of one fingerprint. */
export function hasFingerprint(
  keyring: TenantKeyring,
  { index_key_id }: TokenRecord,
  fingerprint: string,
  blinds: readonly Uint8Array[],
): boolean {
  const own = underIndexKey(keyring, index_key_id).blindIndex('fingerprint', fingerprint);
  return blinds.some((blind) => Buffer.compare(blind, own) === 0);
}

/**
 * Checks a token that was found by one of these blind indexes of a fingerprint. An index can be edited without a key,
 * so the opened fingerprint decides. Throws `integrity_failure` when the fingerprint matches none of the indexes.
 */
export function requireFingerprint(...parts: Parameters<typeof hasFingerprint>): void {
  if (!hasFingerprint(...parts)) throw new Problem('integrity_failure');
}

/**
 * Returns the keyring with the index key of a token, which is an older key during a rotation. Throws
 * `integrity_failure` for an unknown key.
 */
export function underIndexKey(keyring: TenantKeyring, indexKeyId: number): TenantKeyring {
  if (keyring.keyIds.index_key_id === indexKeyId) return { ...keyring, formerIndexKeys: [] };
  const former = keyring.formerIndexKeys.find((key) => key.key_id === indexKeyId);
  if (former === undefined) throw new Problem('integrity_failure');
  return { ...keyring, blindIndex: former.blindIndex, fingerprint: former.fingerprint, formerIndexKeys: [] };
}

/**
 * Returns a text normalized for comparison without case, at least as the full case folding of Unicode does. Converts to
 * upper case and then to lower case, so that ß equals SS and ſ equals s. ẞ is replaced first, because it is an upper
 * case already and its lower case is ß.
 */
export function foldCase(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text.toLowerCase();
  return text.normalize('NFC').replaceAll('ẞ', 'ss').toUpperCase().toLowerCase().normalize('NFC');
}
