import { MAX_DATA, MAX_DEFINITION } from '../../contract/limits.ts';
import type { Permission, Transform } from '../../contract/permissions.ts';
import type { Token } from '../../contract/token.ts';
import { TOKEN_TYPES, type TokenTypeRow } from '../../contract/token-types.ts';
import { type Grants, governingTransform, showsMore, transformOfEveryToken } from '../access/grants.ts';
import type { ReplyBody } from '../handler.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { PresentedToken, TenantKeyring } from '../ports.ts';
import { formatInstant } from '../time.ts';
import { type ClearColumns, presentedColumns } from './clear-columns.ts';
import {
  openFull,
  openPresented,
  type PresentedDetails,
  type TokenDefinition,
  type TokenDetails,
  type UnsealedToken,
} from './token-codec.ts';

/**
 * Returns the sealed bytes of a token, about the length of its reply. Counts the maximum for values that the page left
 * out, and 0 without a token.
 */
export function sealedBytes(token: PresentedToken | undefined): number {
  return token === undefined ? 0 : (token.presented.length || MAX_DEFINITION) + (token.full.length || MAX_DATA);
}

/**
 * Performs step 7 of the request path: returns the token in the form that the caller's governing rule allows; undefined
 * without access. A masked or redacted read never opens the plaintext. `id` is the requested id; `most` limits the
 * transform. Throws `integrity_failure`.
 */
export function presentToken(
  keyring: TenantKeyring,
  grants: Grants,
  id: string,
  record: PresentedToken,
  most?: Transform,
) {
  const columns = presentedColumns(record);
  const opened = openGoverned(keyring, grants, 'token:read', id, record, columns, most);
  if (opened === undefined) return undefined;
  const { details, transform, data } = opened;
  return { id, columns, details, transform, text: tokenText(record, columns, details, data) };
}

/**
 * Returns a token's details and the JSON text of its presented data, under the governing rule for a permission;
 * undefined without access.
 */
export function openGoverned(
  keyring: TenantKeyring,
  grants: Grants,
  permission: Permission,
  id: string,
  record: PresentedToken,
  columns = presentedColumns(record),
  most: Transform = 'reveal',
) {
  if (most === 'reveal' && transformOfEveryToken(grants, permission) === most) {
    return { transform: most, ...openFull(keyring, id, record, columns) };
  }
  const { details, masked } = openPresented(keyring, id, record, columns);
  const governing = governingTransform(grants, permission, { id, containers: details.containers });
  if (!governing) return undefined;
  const transform = showsMore(governing, most) ? most : governing;
  const shown = transform === 'mask' ? masked : undefined;
  return { details, transform, data: transform === 'reveal' ? openFull(keyring, id, record, columns).data : shown };
}

/**
 * Returns the JSON text of the Token (§2.1) for reads, without its definition. Quotes only values that may need
 * escapes. Most members (UUIDs, times, base58) need none, and general printing would take most of a list's time.
 */
export function tokenText(
  { id, tenant_id }: Pick<PresentedToken, 'id' | 'tenant_id'>,
  { type, created_by, created_at, modified_by, modified_at }: ClearColumns,
  { fingerprint, containers, metadata, expires_at }: PresentedDetails,
  data: string | undefined,
): JsonText {
  let text = `{"id":${stringifyJson(id)},"type":"${type}","tenant_id":"${tenant_id}"`;
  if (data !== undefined) text += `,"data":${data}`;
  text += `,"fingerprint":"${fingerprint}","containers":${stringifyJson(containers)}`;
  if (metadata !== undefined) text += `,"metadata":${metadata.text}`;
  text += `,"created_by":"${created_by}","created_at":"${formatInstant(created_at)}"`;
  if (modified_by !== undefined) text += `,"modified_by":"${modified_by}"`;
  if (modified_at !== undefined) text += `,"modified_at":"${formatInstant(modified_at)}"`;
  if (expires_at !== undefined) text += `,"expires_at":${stringifyJson(expires_at)}`;
  return new JsonText(`${text}}`);
}

/** Returns the Token (§2.1) for the replies of create and update, with its `definition`. */
export function showToken(
  token: Omit<UnsealedToken, 'active_month' | 'revision'>,
  details: Omit<TokenDetails | PresentedDetails, 'fingerprint'> & { readonly fingerprint?: string | undefined },
  data: JsonText | undefined,
  definition?: TokenDefinition,
): ReplyBody<Token> {
  return {
    id: token.id,
    type: token.type,
    tenant_id: token.tenant_id,
    data,
    mask: printedDefault(definition?.mask),
    fingerprint: details.fingerprint,
    fingerprint_expression: definition?.fingerprint_expression,
    containers: details.containers,
    metadata: details.metadata,
    search_indexes: printedDefault(definition?.search_indexes),
    created_by: token.created_by,
    created_at: formatInstant(token.created_at),
    modified_by: token.modified_by,
    modified_at: token.modified_at === undefined ? undefined : formatInstant(token.modified_at),
    expires_at: details.expires_at,
  };
}

/** The JSON text of each type's default mask and search indexes, which most tokens have. */
const PRINTED_DEFAULTS: ReadonlyMap<unknown, JsonText> = new Map(
  Object.values<TokenTypeRow>(TOKEN_TYPES)
    .flatMap(({ mask, search_indexes }) => [mask, search_indexes])
    .filter((each) => each !== undefined)
    .map((each) => [each, new JsonText(stringifyJson(each))]),
);

function printedDefault<T>(value: T): T | JsonText {
  return PRINTED_DEFAULTS.get(value) ?? value;
}
