import type { Json } from '../../contract/json.ts';
import { parseJson } from '../json/parse.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { KeyIds, SealContext, ShownToken, TenantKeyring, TokenRecord } from '../ports.ts';

/** What every read of a token shows. */
export interface TokenDetails {
  readonly containers: readonly string[];
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly fingerprint: string;
  /** ISO 8601 with the offset that it was sent with (decisions §1). */
  readonly expires_at?: string | undefined;
}

/** What only the replies to writers show. */
export interface TokenDefinition {
  readonly mask?: Json | undefined;
  readonly search_indexes?: readonly string[] | undefined;
  readonly fingerprint_expression: string;
}

/** The four values of a token that are sealed, each on its own: a read opens no more than it shows. */
export interface TokenContents {
  /** The JSON text of `data`. */
  readonly data: string;
  /** The JSON text of the masked form. */
  readonly masked?: string | undefined;
  readonly details: TokenDetails;
  readonly definition: TokenDefinition;
}

type ClearColumns = Omit<TokenRecord, SealedColumn>;
type SealedColumn = 'data' | 'masked' | 'details' | 'definition';

/** Under the newest data key. The blind indexes that go with it must be under the newest index key, as the fingerprint is. */
export function sealToken(
  keyring: TenantKeyring,
  unsealed: Omit<ClearColumns, keyof KeyIds>,
  contents: TokenContents,
): TokenRecord {
  const clear = { ...unsealed, ...keyring.keyIds };
  const seal = (column: SealedColumn, text: string) => keyring.seal(contextOf(clear.id, clear, column), text);
  return {
    ...clear,
    data: seal('data', contents.data),
    masked: contents.masked === undefined ? undefined : seal('masked', contents.masked),
    details: seal('details', stringifyJson({ ...contents.details })),
    definition: seal('definition', stringifyJson({ ...contents.definition })),
  };
}

/** `id` is the one that was asked for, here and below. All throw `integrity_failure`. */
export function openDetails(keyring: TenantKeyring, id: string, record: ShownToken): TokenDetails {
  // Sealed by sealToken: opening proves that the text is its own; so below.
  const details = parseJson(keyring.open(contextOf(id, record, 'details'), record.details)) as unknown;
  return details as TokenDetails;
}

export function openDefinition(keyring: TenantKeyring, id: string, record: TokenRecord): TokenDefinition {
  const definition = parseJson(keyring.open(contextOf(id, record, 'definition'), record.definition)) as unknown;
  return definition as TokenDefinition;
}

/** The JSON text of `data`, or of its masked form: undefined when there is none. */
export function openText(
  keyring: TenantKeyring,
  id: string,
  record: ShownToken,
  column: 'data' | 'masked',
): string | undefined {
  const sealed = record[column];
  return sealed && keyring.open(contextOf(id, record, column), sealed);
}

function contextOf(id: string, record: ClearColumns, column: SealedColumn): SealContext {
  const { revision, type, created_at, created_by, modified_at, modified_by, expires_at, key_id, index_key_id } = record;
  const clear = [type, created_at, created_by, modified_at, modified_by, expires_at, key_id, index_key_id];
  return { table: 'token', id, column, revision, clear };
}
