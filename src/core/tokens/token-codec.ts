import type { Json } from '../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../contract/token-types.ts';
import { parseJson } from '../json/parse.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { KeyIds, PresentedToken, SealContext, TenantKeyring, TokenRecord } from '../ports.ts';

/** What every read of a token shows. */
export interface TokenDetails {
  readonly containers: readonly string[];
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly fingerprint: string;
  /** ISO 8601 with the offset that it was sent with (decisions §1). */
  readonly expires_at?: string | undefined;
}

/** What replies show of them: the metadata as JSON text, spliced in as it stands. */
export interface PresentedDetails extends Omit<TokenDetails, 'metadata'> {
  readonly metadata?: JsonText | undefined;
}

/** What only the replies to writers show. */
export interface TokenDefinition {
  readonly mask?: Json | undefined;
  readonly search_indexes?: readonly string[] | undefined;
  readonly fingerprint_expression: string;
  /** Somebody who does not read the token has changed it since it was the type's own: in no reply. */
  readonly unread?: true | undefined;
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

/** `fingerprint_expression` of a token that names none (§2.2). */
export const DEFAULT_FINGERPRINT = '{{ data | stringify }}';

type ClearColumns = Omit<TokenRecord, SealedColumn>;
/** What the seals are bound to, beside the id and the column. */
type BoundColumns = Omit<ClearColumns, 'id' | 'tenant_id' | 'active_month'>;
type SealedColumn = 'data' | 'masked' | 'details' | 'definition';

/** Under the newest data key. The blind indexes that go with it must be under the newest index key, as the fingerprint is. */
export function sealToken(
  keyring: TenantKeyring,
  unsealed: Omit<ClearColumns, keyof KeyIds>,
  contents: TokenContents,
): TokenRecord {
  const { id, tenant_id, type, created_by, created_at, modified_by, modified_at } = unsealed;
  const { expires_at, revision, active_month } = unsealed;
  const { key_id, index_key_id } = keyring.keyIds;
  const sealed = { type, created_by, created_at, modified_by, modified_at, expires_at, revision, key_id, index_key_id };
  const seal = (column: SealedColumn, text: string) => keyring.seal(contextOf(id, sealed, column), text);
  // Each member by its name: V8 takes microseconds to add one to what it has spread.
  return {
    id,
    tenant_id,
    type,
    created_by,
    created_at,
    modified_by,
    modified_at,
    expires_at,
    revision,
    key_id,
    index_key_id,
    active_month,
    data: seal('data', contents.data),
    masked: contents.masked === undefined ? undefined : seal('masked', contents.masked),
    details: seal('details', encodeDetails(contents.details)),
    definition: seal('definition', encodeDefinition(type, contents.definition)),
  };
}

/** `id` is the one that was asked for, here and below. All throw `integrity_failure`. */
export function openDetails(keyring: TenantKeyring, id: string, record: PresentedToken): TokenDetails {
  const { containers, metadata, fingerprint, expires_at } = openPresentedDetails(keyring, id, record);
  // Sealed by sealToken: opening proves that the text is its own; so below.
  const members = metadata && (parseJson(metadata.text) as TokenDetails['metadata']);
  return { containers, metadata: members, fingerprint, expires_at };
}

/** The same for replies, which show metadata as it was written. */
export function openPresentedDetails(keyring: TenantKeyring, id: string, record: PresentedToken): PresentedDetails {
  return decodeDetails(keyring.open(contextOf(id, record, 'details'), record.details));
}

export function openDefinition(keyring: TenantKeyring, id: string, record: TokenRecord): TokenDefinition {
  return decodeDefinition(record.type, keyring.open(contextOf(id, record, 'definition'), record.definition));
}

/** Returns the JSON text of `data`. */
export function openData(keyring: TenantKeyring, id: string, record: PresentedToken): string {
  return keyring.open(contextOf(id, record, 'data'), record.data);
}

/** The JSON text of `data`, or of its masked form: undefined when there is none. */
export function openText(
  keyring: TenantKeyring,
  id: string,
  record: PresentedToken,
  column: 'data' | 'masked',
): string | undefined {
  const sealed = record[column];
  return sealed && keyring.open(contextOf(id, record, column), sealed);
}

function contextOf(id: string, record: BoundColumns, column: SealedColumn): SealContext {
  const { revision, type, created_at, created_by, modified_at, modified_by, expires_at, key_id, index_key_id } = record;
  const clear = [type, created_at, created_by, modified_at, modified_by, expires_at, key_id, index_key_id];
  return { table: 'token', id, column, revision, clear };
}

/**
 * One field a line: fingerprint, expiry, containers with spaces between them, metadata as JSON text, in which no line ends.
 * Shorter than JSON, so that most tokens' fit two steps of padding, and read without parsing what only passes through.
 */
function encodeDetails({ fingerprint, expires_at = '', containers, metadata }: TokenDetails): string {
  return [fingerprint, expires_at, containers.join(' '), metadata ? stringifyJson(metadata) : ''].join('\n');
}

function decodeDetails(text: string): PresentedDetails {
  // Twice as fast as `split`, and a page of tokens does it a hundred times.
  const fingerprintEnd = text.indexOf('\n');
  const expiryEnd = text.indexOf('\n', fingerprintEnd + 1);
  const containersEnd = text.indexOf('\n', expiryEnd + 1);
  const containers = text.slice(expiryEnd + 1, containersEnd);
  return {
    containers: containers.includes(' ') ? containers.split(' ') : [containers],
    metadata: containersEnd + 1 === text.length ? undefined : new JsonText(text.slice(containersEnd + 1)),
    fingerprint: text.slice(0, fingerprintEnd),
    expires_at: expiryEnd === fingerprintEnd + 1 ? undefined : text.slice(fingerprintEnd + 1, expiryEnd),
  };
}

/** What stands for the definition that a type has had by itself since the first format. Other defaults would need another mark. */
const DEFAULTS = '1';

function defaultsOf(type: TokenType): TokenDefinition {
  const { mask, search_indexes }: TokenTypeRow = TOKEN_TYPES[type];
  return { mask, search_indexes, fingerprint_expression: DEFAULT_FINGERPRINT };
}

const defaultTexts = new Map<TokenType, string>();

function encodeDefinition(type: TokenType, { unread, ...reported }: TokenDefinition): string {
  const text = stringifyJson(reported);
  const usual = defaultTexts.get(type) ?? stringifyJson({ ...defaultsOf(type) });
  defaultTexts.set(type, usual);
  if (text === usual) return DEFAULTS;
  return unread ? stringifyJson({ ...reported, unread }) : text;
}

function decodeDefinition(type: TokenType, text: string): TokenDefinition {
  if (text === DEFAULTS) return defaultsOf(type);
  const definition = parseJson(text) as unknown;
  return definition as TokenDefinition;
}
