import type { Limits } from '../../contract/limits.ts';
import type { Transform } from '../../contract/permissions.ts';
import type { Token } from '../../contract/token.ts';
import type { Shown } from '../handler.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { PresentedToken, TenantKeyring, TokenRecord } from '../ports.ts';
import { invalid } from '../problem.ts';
import { formatInstant } from '../time.ts';
import {
  openText,
  type PresentedDetails,
  type TokenContents,
  type TokenDefinition,
  type TokenDetails,
} from './token-codec.ts';

/** Which sealed value a transform shows. A masked read never opens the plaintext, a redacted one opens neither. */
const SHOWN_COLUMN = { redact: undefined, mask: 'masked', reveal: 'data' } as const satisfies Record<
  Transform,
  'masked' | 'data' | undefined
>;

/** Step 7 of the one path: the `data` that a transform shows, or undefined when it shows none. */
export function shownData(
  keyring: TenantKeyring,
  id: string,
  record: PresentedToken,
  transform: Transform,
): JsonText | undefined {
  const column = SHOWN_COLUMN[transform];
  const text = column && openText(keyring, id, record, column);
  return text === undefined ? undefined : new JsonText(text);
}

/**
 * The Token (§2.1) as reads show it: what `showToken` shows without a definition, as the text of it. Most of a list's time for
 * text went into members whose names are known and whose values need no escape: UUIDs, times, base58. The others are quoted.
 */
export function tokenText(record: PresentedToken, details: PresentedDetails, data: JsonText | undefined): JsonText {
  const { fingerprint, containers, metadata, expires_at } = details;
  let text = `{"id":${stringifyJson(record.id)},"type":"${record.type}","tenant_id":"${record.tenant_id}"`;
  if (data !== undefined) text += `,"data":${data.text}`;
  text += `,"fingerprint":"${fingerprint}","containers":${stringifyJson(containers)}`;
  if (metadata !== undefined) text += `,"metadata":${metadata.text}`;
  text += `,"created_by":"${record.created_by}","created_at":"${formatInstant(record.created_at)}"`;
  if (record.modified_by !== undefined) text += `,"modified_by":"${record.modified_by}"`;
  if (record.modified_at !== undefined) text += `,"modified_at":"${formatInstant(record.modified_at)}"`;
  if (expires_at !== undefined) text += `,"expires_at":${stringifyJson(expires_at)}`;
  return new JsonText(`${text}}`);
}

/** The Token (§2.1) as the replies of create and update show it, with its `definition`. */
export function showToken(
  record: PresentedToken,
  details: Omit<TokenDetails | PresentedDetails, 'fingerprint'> & { readonly fingerprint?: string | undefined },
  data: JsonText | undefined,
  definition?: TokenDefinition,
): Shown<Token> {
  return {
    id: record.id,
    type: record.type,
    tenant_id: record.tenant_id,
    data,
    mask: definition?.mask,
    fingerprint: details.fingerprint,
    fingerprint_expression: definition?.fingerprint_expression,
    containers: details.containers,
    metadata: details.metadata,
    search_indexes: definition?.search_indexes,
    created_by: record.created_by,
    created_at: formatInstant(record.created_at),
    modified_by: record.modified_by,
    modified_at: record.modified_at === undefined ? undefined : formatInstant(record.modified_at),
    expires_at: details.expires_at,
  };
}

/** What a page of one token has around it. */
const ENVELOPE = 256;

/** What the sealed values of a token do not tell of its size in a reply: names of members, ids, times, the defaults of its type. */
const UNSEALED = 8 * 1024;

/**
 * Throws `invalid_request` for a token that no reply could show. Each merge patch may bring as much as a body holds: what grew
 * beyond a response would be written, answered as if it were not, and be in the way of every list that it stands in.
 */
export function checkSize(record: TokenRecord, contents: TokenContents, limits: Limits): void {
  if (mayBeBytes(record) <= limits.response) return;
  const { data, masked = '', details, definition } = contents;
  const dataBytes = Buffer.byteLength(data);
  const longer = new JsonText(Buffer.byteLength(masked) > dataBytes ? masked : data);
  const shown = stringifyJson(showToken(record, details, longer, definition));
  if (Buffer.byteLength(shown) + ENVELOPE <= limits.response) return;
  const { mask } = definition;
  const member = mask !== undefined && Buffer.byteLength(stringifyJson(mask)) > dataBytes ? 'mask' : 'data';
  throw invalid(member, `makes the token larger than a response may be: ${limits.response} bytes`);
}

/** An estimate, never too small, that costs nothing: text that is sealed has at least two thirds of the bytes that it has in UTF-8. */
function mayBeBytes({ data, masked, details, definition }: TokenRecord): number {
  return 1.5 * (data.length + (masked?.length ?? 0) + details.length + definition.length) + UNSEALED;
}
