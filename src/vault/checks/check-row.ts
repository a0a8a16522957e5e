import { isReplaced, openApplication } from '../../core/applications/application-codec.ts';
import { parseJson } from '../../core/json/parse.ts';
import type { Finding, InspectedRecords, InspectedRow } from '../../core/key-holder-ports.ts';
import type { Keyring, TenantKeyring, TokenRecord } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { openReply } from '../../core/reply-codec.ts';
import { derive } from '../../core/tokens/derive.ts';
import { areSealed, sealedIndexes, underIndexKey } from '../../core/tokens/indexes.ts';
import { openToken } from '../../core/tokens/token-codec.ts';

const UNREADABLE = 'has clear columns that the vault never writes';
const REPLACED = 'was replaced by a later API key of its application, but has a row: the row was restored';
const CLOSED = 'cannot be decrypted: a sealed value or a clear column was altered, moved or copied';

/** The keys of a vault and of the tenant whose rows are checked. */
export interface CheckKeys {
  readonly vault: Keyring;
  readonly tenant: TenantKeyring;
  /** The revision of the last regeneration of each application that has one. The checks of applications add it. */
  readonly keysFrom: Map<string, number>;
}

type Look<Found> = (
  keys: CheckKeys,
  record: Found,
  row: InspectedRow<Found>,
) => readonly string[] | Promise<readonly string[]>;

/** Return what is wrong with a record, in the order in which the tables are checked. */
const LOOKS: { readonly [Table in keyof InspectedRecords]: Look<InspectedRecords[Table]> } = {
  application({ tenant, keysFrom }, record, { id }) {
    const { keys_from } = openApplication(tenant, id, record).details;
    if (keys_from !== undefined) keysFrom.set(id, Number(keys_from));
    return [];
  },
  application_key: ({ tenant, keysFrom }, record) =>
    isReplaced(tenant, record, keysFrom.get(record.application_id)) ? [REPLACED] : [],
  token: ({ tenant }, record, row) => lookAtToken(tenant, record, row),
  tombstone({ vault }, record) {
    if (Buffer.compare(vault.tombstoneMac(record), record.mac) === 0) return [];
    return ['has a wrong MAC: a clear column was altered, or the row was copied'];
  },
  reply({ tenant }, record) {
    openReply(tenant, record);
    return [];
  },
};

export const CHECKED_TABLES = Object.keys(LOOKS) as readonly (keyof InspectedRecords)[];

/** Returns what is wrong with the sealed columns of a token and its indexes. */
async function lookAtToken(
  keyring: TenantKeyring,
  record: TokenRecord,
  { id, indexes }: InspectedRow<TokenRecord>,
): Promise<readonly string[]> {
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
}

/** Returns the findings about a row. An error of its check is also a finding, unless the vault is locked. */
export async function checkRow<Table extends keyof InspectedRecords>(
  keys: CheckKeys,
  table: Table,
  row: InspectedRow<InspectedRecords[Table]>,
): Promise<readonly Finding[]> {
  const { id, record } = row;
  const look: Look<InspectedRecords[Table]> = LOOKS[table];
  let wrong: readonly string[] = [UNREADABLE];
  try {
    if (record !== undefined) wrong = await look(keys, record, row);
  } catch (error) {
    wrong = [whatOf(error)];
  }
  return wrong.map((what) => ({ table, id, what }));
}

/**
 * Returns the finding for an error of a check. An error other than `integrity_failure` means that the record contains
 * something that the vault never writes. Rethrows `vault_locked`.
 */
function whatOf(error: unknown): string {
  if (error instanceof Problem && error.code === 'vault_locked') throw error;
  return error instanceof Problem && error.code === 'integrity_failure'
    ? CLOSED
    : 'has contents that the vault never writes';
}
