import { openApplication } from '../core/applications/application-codec.ts';
import { parseJson } from '../core/json/parse.ts';
import type { Finding, InspectedRow } from '../core/maintenance-ports.ts';
import type { ApplicationRecord, Keyring, TenantKeyring, TokenRecord, Tombstone } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import { derive } from '../core/tokens/derive.ts';
import { openDefinition, openDetails, openText } from '../core/tokens/token-codec.ts';

const UNREADABLE = 'has clear columns that the vault never writes';
const CLOSED = 'does not open: a sealed value or a clear column was altered, moved or copied';

/** What is wrong with one application. */
export function checkApplication(
  keyring: TenantKeyring,
  { id, record }: InspectedRow<ApplicationRecord>,
): readonly Finding[] {
  const table = 'application';
  if (record === undefined) return [{ table, id, what: UNREADABLE }];
  try {
    openApplication(keyring, id, record);
    return [];
  } catch (error) {
    return [{ table, id, what: whatOf(error) }];
  }
}

/** What is wrong with what stays of a deleted token. */
export function checkTombstone(
  keyring: Pick<Keyring, 'tombstoneMac'>,
  { id, record }: InspectedRow<Tombstone>,
): readonly Finding[] {
  const table = 'tombstone';
  if (record === undefined) return [{ table, id, what: UNREADABLE }];
  if (Buffer.compare(keyring.tombstoneMac(record), record.mac) === 0) return [];
  return [{ table, id, what: 'is not as it was written: a clear column was altered, or the row copied' }];
}

/** What is wrong with one token: with its sealed columns, each on its own, and with what it is found by. */
export async function checkToken(
  keyring: TenantKeyring,
  { id, record, indexes }: InspectedRow<TokenRecord>,
): Promise<readonly Finding[]> {
  const table = 'token';
  if (record === undefined) return [{ table, id, what: UNREADABLE }];
  try {
    const details = openDetails(keyring, id, record);
    const definition = openDefinition(keyring, id, record);
    const data = parseJson(openText(keyring, id, record, 'data') ?? 'null');
    openText(keyring, id, record, 'masked');
    const { type } = record;
    const under = underIndexKey(keyring, record.index_key_id);
    const { contents, indexes: expected } = await derive(under, { ...details, type, data, definition });
    const findings: Finding[] = [];
    if (contents.details.fingerprint !== details.fingerprint) {
      findings.push({ table, id, what: 'has a fingerprint that is not of its data' });
    }
    if ((record.masked === undefined) !== (contents.masked === undefined)) {
      findings.push({ table, id, what: 'has lost its masked form, or has one too many' });
    }
    if (!sameIndexes(indexes, [expected.fingerprint, ...expected.others])) {
      findings.push({ table, id, what: 'has blind indexes that are not of its contents' });
    }
    return findings;
  } catch (error) {
    return [{ table, id, what: whatOf(error) }];
  }
}

/** The keyring with the index key that a token was written under: an older one while a rotation goes on. */
function underIndexKey(keyring: TenantKeyring, indexKeyId: number): TenantKeyring {
  if (keyring.keyIds.index_key_id === indexKeyId) return { ...keyring, formerIndexKeys: [] };
  const former = keyring.formerIndexKeys.find((key) => key.key_id === indexKeyId);
  if (former === undefined) throw new Problem('integrity_failure');
  return { ...keyring, blindIndex: former.blindIndex, fingerprint: former.fingerprint, formerIndexKeys: [] };
}

/** The first is the fingerprint's; the others have no order. */
function sameIndexes(found: readonly Uint8Array[], expected: readonly Uint8Array[]): boolean {
  const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? '' : Buffer.from(bytes).toString('hex'));
  const [left, right] = [found, expected].map((list) => [...new Set(list.map(text))].sort());
  return text(found[0]) === text(expected[0]) && left?.join() === right?.join() && found.length === left?.length;
}

/** Any other failure means that a record opened to what the vault does not write. */
function whatOf(error: unknown): string {
  if (error instanceof Problem && error.code === 'vault_locked') throw error;
  return error instanceof Problem && error.code === 'integrity_failure'
    ? CLOSED
    : 'does not hold what the vault writes';
}
