import type { Json } from '../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../contract/token-types.ts';
import { parseJson } from '../json/parse.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { KeyIds, PresentedToken, SealContext, TenantKeyring, TokenRecord } from '../ports.ts';
import type { ScannedToken } from '../scan-ports.ts';
import { type ClearColumns, packClear, presentedColumns, recordColumns } from './clear-columns.ts';

/** The members that every read of a token returns. */
export interface TokenDetails {
  readonly containers: readonly string[];
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly fingerprint: string;
  /** ISO 8601 in the offset that was sent (decisions §1). */
  readonly expires_at?: string | undefined;
  /**
   * The names of the blind indexes of the search values, in the order of `searchIndexes`, separated by spaces. Absent
   * without search values.
   */
  readonly searched?: string | undefined;
}

/** The details for replies, which contain the metadata as unchanged JSON text. */
export interface PresentedDetails extends Omit<TokenDetails, 'metadata'> {
  readonly metadata?: JsonText | undefined;
}

/** The members that only callers with write access receive. */
export interface TokenDefinition {
  readonly mask?: Json | undefined;
  readonly search_indexes?: readonly string[] | undefined;
  readonly fingerprint_expression: string;
  /** The paths of the expressions that fail on the data, such as `search_indexes.0`. Their results are absent. */
  readonly without_result?: readonly string[] | undefined;
}

/** The contents of the two sealed values of a token. */
export interface TokenContents {
  /** The JSON text of `data`. */
  readonly data: string;
  /** The JSON text of the masked form. */
  readonly masked?: string | undefined;
  readonly details: TokenDetails;
  readonly definition: TokenDefinition;
}

/** The default `fingerprint_expression` (§2.2). */
export const DEFAULT_FINGERPRINT = '{{ data | stringify }}';

/** A token before it is sealed. */
export interface UnsealedToken extends Omit<ClearColumns, keyof KeyIds> {
  readonly id: string;
  readonly tenant_id: string;
  readonly active_month: number;
}

/** Seals a token under the newest data key. The token's blind indexes and fingerprint must use the newest index key. */
export function sealToken(keyring: TenantKeyring, unsealed: UnsealedToken, contents: TokenContents): TokenRecord {
  const { id, tenant_id, type, created_at, expires_at, revision, active_month } = unsealed;
  const { key_id, index_key_id } = keyring.keyIds;
  const clear = packClear(unsealed, keyring.keyIds);
  const details = encodeDetails(contents.details);
  const definition = encodeDefinition(type, contents.definition);
  const presented = `${details}\n${definition}\n${contents.masked ?? ''}`;
  const full = `${details}\n${contents.data}`;
  // Name each member, because V8 takes microseconds to add a member to a spread object.
  return {
    id,
    tenant_id,
    type,
    created_at,
    expires_at,
    revision,
    key_id,
    index_key_id,
    active_month,
    clear,
    presented: keyring.seal(contextOf(id, clear, revision, 'presented'), presented),
    full: keyring.seal(contextOf(id, clear, revision, 'full'), full),
  };
}

/**
 * Opens the sealed value `presented` of a token, for reads that do not reveal. `id` is the requested id, and `columns`
 * are the clear columns of the record. Throws `integrity_failure`.
 */
export function openPresented(
  keyring: TenantKeyring,
  id: string,
  record: ScannedToken,
  { revision }: ClearColumns = presentedColumns(record),
) {
  const text = keyring.open(contextOf(id, record.clear, revision, 'presented'), record.presented);
  const { details, end } = decodeDetails(text);
  const definitionEnd = text.indexOf('\n', end + 1);
  const masked = text.slice(definitionEnd + 1);
  return {
    details,
    /** The JSON text of the masked form. If it is absent, a caller that may see only the mask gets a redacted token. */
    masked: masked === '' ? undefined : masked,
    /** The text for `decodeDefinition`. Only callers with write access receive the definition. */
    definitionText: text.slice(end + 1, definitionEnd),
  };
}

/**
 * Opens the sealed value `full` of a token: the details and the JSON text of `data`. Takes the same parameters as
 * `openPresented`, and throws `integrity_failure`.
 */
export function openFull(keyring: TenantKeyring, id: string, record: PresentedToken, { revision }: ClearColumns) {
  const text = keyring.open(contextOf(id, record.clear, revision, 'full'), record.full);
  const { details, end } = decodeDetails(text);
  return { details, data: text.slice(end + 1) };
}

/**
 * Opens a whole record for a change, in the form that `sealToken` accepts. Calls `check` before it opens the data, so
 * that the time of a call that `check` refuses does not depend on the data. Throws `integrity_failure`.
 */
export function openToken(
  keyring: TenantKeyring,
  id: string,
  record: TokenRecord,
  check: (details: PresentedDetails) => void = () => undefined,
) {
  const columns = recordColumns(record);
  const { details, masked, definitionText } = openPresented(keyring, id, record, columns);
  check(details);
  const definition = decodeDefinition(columns.type, definitionText);
  const full = openFull(keyring, id, record, columns);
  const { tenant_id, active_month } = record;
  return {
    unsealed: { id, tenant_id, active_month, ...columns },
    contents: { data: full.data, masked, details: parseDetails(details), definition },
  };
}

/** Returns the details with parsed metadata. Replies use the text instead. */
export function parseDetails({ metadata, ...details }: PresentedDetails): TokenDetails {
  // The cast is safe: opening proves that the text is the one that sealToken sealed.
  return { ...details, metadata: metadata && (parseJson(metadata.text) as TokenDetails['metadata']) };
}

function contextOf(id: string, clear: Uint8Array, revision: number, column: 'presented' | 'full'): SealContext {
  return { table: 'token', id, column, revision, clear: [clear] };
}

/**
 * Returns the details as text, one field a line: fingerprint, expiry, containers separated by spaces, metadata as JSON
 * text without line ends. This text is shorter than JSON, so most tokens fit few steps of padding, and a read parses
 * only the fields that it uses. `presented` continues with a line for the definition and one for the masked form,
 * `full` with one for `data`. In tokens with search values, a line with their blind indexes follows the metadata: few tokens
 * have one, and a byte more may add a step of padding.
 */
function encodeDetails({ fingerprint, expires_at = '', containers, metadata, searched }: TokenDetails): string {
  const lines = [fingerprint, expires_at, containers.join(' '), metadata ? stringifyJson(metadata) : ''];
  if (searched !== undefined) lines.push(SEARCHED + searched);
  return lines.join('\n');
}

/** Returns the details of a text from `encodeDetails`. `end` is the offset where their last line ends. */
function decodeDetails(text: string): { readonly details: PresentedDetails; readonly end: number } {
  // `indexOf` is twice as fast as `split` here, and a page of tokens needs a hundred calls.
  const fingerprintEnd = text.indexOf('\n');
  const expiryEnd = text.indexOf('\n', fingerprintEnd + 1);
  const containersEnd = text.indexOf('\n', expiryEnd + 1);
  const metadataEnd = text.indexOf('\n', containersEnd + 1);
  const end = text[metadataEnd + 1] === SEARCHED ? text.indexOf('\n', metadataEnd + 1) : metadataEnd;
  const containers = text.slice(expiryEnd + 1, containersEnd);
  const details = {
    containers: containers.includes(' ') ? containers.split(' ') : [containers],
    metadata: containersEnd + 1 === metadataEnd ? undefined : new JsonText(text.slice(containersEnd + 1, metadataEnd)),
    fingerprint: text.slice(0, fingerprintEnd),
    expires_at: expiryEnd === fingerprintEnd + 1 ? undefined : text.slice(fingerprintEnd + 1, expiryEnd),
    searched: metadataEnd === end ? undefined : text.slice(metadataEnd + 2, end),
  };
  return { details, end };
}

/** The first character of the line with blind indexes. Definitions and the JSON text of data begin with others. */
const SEARCHED = ' ';

/** The text that represents the default definition of a type. If the defaults change, they need another text. */
const DEFAULTS = '1';

function defaultsOf(type: TokenType): TokenDefinition {
  const { mask, search_indexes }: TokenTypeRow = TOKEN_TYPES[type];
  return { mask, search_indexes, fingerprint_expression: DEFAULT_FINGERPRINT };
}

const defaultTexts = new Map<TokenType, string>();

function encodeDefinition(type: TokenType, definition: TokenDefinition): string {
  const { mask, search_indexes }: TokenTypeRow = TOKEN_TYPES[type];
  const isUnchanged = definition.mask === mask && definition.search_indexes === search_indexes;
  if (
    isUnchanged &&
    definition.without_result === undefined &&
    definition.fingerprint_expression === DEFAULT_FINGERPRINT
  )
    return DEFAULTS;
  const text = stringifyJson({ ...definition });
  const usual = defaultTexts.get(type) ?? stringifyJson({ ...defaultsOf(type) });
  defaultTexts.set(type, usual);
  return text === usual ? DEFAULTS : text;
}

export function decodeDefinition(type: TokenType, text: string): TokenDefinition {
  if (text === DEFAULTS) return defaultsOf(type);
  const definition = parseJson(text) as unknown;
  return definition as TokenDefinition;
}
