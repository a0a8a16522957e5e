import type { ApplicationKeyRecord } from '../../core/application-ports.ts';
import { openApplication } from '../../core/applications/application-codec.ts';
import { isReplaced } from '../../core/applications/application-key-codec.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { Finding, InspectedRow } from '../../core/key-holder-ports.ts';
import type { ApplicationRecord, Keyring, TenantKeyring, TokenRecord, Tombstone } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { openReply } from '../../core/reply-codec.ts';
import type { StoredReply } from '../../core/reply-ports.ts';
import { derive } from '../../core/tokens/derive.ts';
import { areSealed, sealedIndexes, underIndexKey } from '../../core/tokens/indexes.ts';
import { openToken } from '../../core/tokens/token-codec.ts';

const UNREADABLE = 'has clear columns that the vault never writes';
const REPLACED = 'was replaced by a later API key of its application, but has a row: the row was restored';
const CLOSED = 'cannot be decrypted: a sealed value or a clear column was altered, moved or copied';

/** The revision of the last regeneration of each application that has one. */
export type KeysFrom = Map<string, number>;

/** Returns the findings about one application. Adds its last regeneration to `keysFrom`. */
export function checkApplicationRow(
  keyring: TenantKeyring,
  row: InspectedRow<ApplicationRecord>,
  keysFrom: KeysFrom,
): Promise<Finding[]> {
  return checkRow('application', row, async (record) => {
    const { keys_from } = openApplication(keyring, row.id, record).details;
    if (keys_from !== undefined) keysFrom.set(row.id, Number(keys_from));
    return [];
  });
}

/** Returns the findings about one API key. `keysFrom` is from the applications. */
export function checkKeyRow(
  keyring: TenantKeyring,
  row: InspectedRow<ApplicationKeyRecord>,
  keysFrom: KeysFrom,
): Promise<Finding[]> {
  return checkRow('application_key', row, async (record) => {
    return isReplaced(keyring, record, keysFrom.get(record.application_id)) ? [REPLACED] : [];
  });
}

/** Returns the findings about the remains of a deleted token. */
export function checkTombstoneRow(keyring: Keyring, row: InspectedRow<Tombstone>): Promise<Finding[]> {
  return checkRow('tombstone', row, async (record) => {
    if (Buffer.compare(keyring.tombstoneMac(record), record.mac) === 0) return [];
    return ['has a wrong MAC: a clear column was altered, or the row was copied'];
  });
}

/** Returns the findings about one stored reply. */
export function checkReplyRow(keyring: TenantKeyring, row: InspectedRow<StoredReply>): Promise<Finding[]> {
  return checkRow('reply', row, async (record) => {
    openReply(keyring, record);
    return [];
  });
}

/** Returns the findings about one token: its sealed columns and its indexes. */
export function checkTokenRow(keyring: TenantKeyring, row: InspectedRow<TokenRecord>): Promise<Finding[]> {
  const { id, indexes } = row;
  return checkRow('token', row, async (record) => {
    const { details, definition, masked, data: text } = openToken(keyring, id, record).contents;
    const data = parseJson(text);
    const { type, index_key_id } = record;
    const under = underIndexKey(keyring, index_key_id);
    const { contents } = await derive(under, { ...details, type, data, dataText: text, definition });
    const wrong: string[] = [];
    if (contents.details.fingerprint !== details.fingerprint)
      wrong.push('has a fingerprint that does not match its data');
    if ((masked === undefined) !== (contents.masked === undefined)) {
      wrong.push('lacks its masked form, or has an unexpected one');
    }
    const sealed = sealedIndexes(keyring, index_key_id, details);
    if (contents.details.searched !== details.searched || !areSealed(indexes, sealed)) {
      wrong.push('has blind indexes that do not match its contents');
    }
    return wrong;
  });
}

/**
 * Returns the findings that `look` reports about a readable record. An error of `look` is also a finding, unless the
 * vault is locked.
 */
async function checkRow<T>(
  table: string,
  { id, record }: InspectedRow<T>,
  look: (record: T) => Promise<readonly string[]>,
): Promise<Finding[]> {
  const wrong = record === undefined ? [UNREADABLE] : await look(record).catch((error: unknown) => [whatOf(error)]);
  return wrong.map((what) => ({ table, id, what }));
}

/**
 * Returns the finding for an error of `look`. An error other than `integrity_failure` means that the record contains
 * something that the vault never writes. Rethrows `vault_locked`.
 */
function whatOf(error: unknown): string {
  if (error instanceof Problem && error.code === 'vault_locked') throw error;
  return error instanceof Problem && error.code === 'integrity_failure'
    ? CLOSED
    : 'has contents that the vault never writes';
}
