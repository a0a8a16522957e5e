import type { Transform } from '../../contract/permissions.ts';
import type { Token } from '../../contract/token.ts';
import type { Shown } from '../handler.ts';
import { JsonText } from '../json/json-text.ts';
import { stringifyJson } from '../json/stringify.ts';
import type { ShownToken, TenantKeyring } from '../ports.ts';
import { formatInstant } from '../time.ts';
import { openText, type ShownDetails, type TokenDefinition, type TokenDetails } from './opened-token.ts';

/** Which sealed value a transform shows. A masked read never opens the plaintext, a redacted one opens neither. */
const SHOWN_COLUMN = { redact: undefined, mask: 'masked', reveal: 'data' } as const satisfies Record<
  Transform,
  'masked' | 'data' | undefined
>;

/** Step 7 of the one path: the `data` that a transform shows, or undefined when it shows none. */
export function shownData(
  keyring: TenantKeyring,
  id: string,
  record: ShownToken,
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
export function tokenText(record: ShownToken, details: ShownDetails, data: JsonText | undefined): JsonText {
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
  record: ShownToken,
  details: Omit<TokenDetails | ShownDetails, 'fingerprint'> & { readonly fingerprint?: string | undefined },
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
