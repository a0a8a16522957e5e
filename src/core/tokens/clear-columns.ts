import { TOKEN_TYPE_NAMES, TOKEN_TYPES, type TokenType } from '../../contract/token-types.ts';
import type { Instant, KeyIds, PresentedToken, TokenCondition, TokenRecord } from '../ports.ts';
import { Problem } from '../problem.ts';
import type { TimeRange } from '../scan-ports.ts';

/** The clear columns of a token, except its id and tenant. Both sealed values are bound to them. */
export interface ClearColumns extends KeyIds {
  readonly type: TokenType;
  readonly created_by: string;
  readonly created_at: Instant;
  /** `modified_by` and `modified_at` are both present or both absent. */
  readonly modified_by?: string | undefined;
  readonly modified_at?: Instant | undefined;
  readonly expires_at?: Instant | undefined;
  readonly revision: number;
}

const LAYOUT = 0x01;
const TYPE_AT = 1;
const KEY_ID_AT = 2;
const INDEX_KEY_ID_AT = 6;
const REVISION_AT = 10;
const CREATED_AT = 16;
const MODIFIED_AT = 22;
const EXPIRES_AT = 28;
const CREATED_BY_AT = 34;
const UUID_LENGTH = 36;
const MODIFIED_BY_AT = CREATED_BY_AT + UUID_LENGTH;
const END = MODIFIED_BY_AT + UUID_LENGTH;

/**
 * Packs the clear columns of a token, integers big endian, times in milliseconds, 0 for an absent one:
 *
 *     offset 0       1     2       6             10        16          22           28          34          70
 *            layout  type  key id  index key id  revision  created_at  modified_at  expires_at  created_by  modified_by
 *            u8      u8    u32     u32           u48       u48         u48          u48         36 ASCII    36 ASCII or none
 *
 * `layout` is 0x01. `type` is the code of the token type.
 */
export function packClear(columns: Omit<ClearColumns, keyof KeyIds>, keys: KeyIds): Uint8Array {
  const { created_by, modified_by } = columns;
  const bytes = Buffer.allocUnsafe(modified_by === undefined ? MODIFIED_BY_AT : END);
  bytes[0] = LAYOUT;
  bytes[TYPE_AT] = TOKEN_TYPES[columns.type].code;
  bytes.writeUInt32BE(keys.key_id, KEY_ID_AT);
  bytes.writeUInt32BE(keys.index_key_id, INDEX_KEY_ID_AT);
  bytes.writeUIntBE(columns.revision, REVISION_AT, 6);
  bytes.writeUIntBE(columns.created_at, CREATED_AT, 6);
  bytes.writeUIntBE(columns.modified_at ?? 0, MODIFIED_AT, 6);
  bytes.writeUIntBE(columns.expires_at ?? 0, EXPIRES_AT, 6);
  for (const [id, at] of [
    [created_by, CREATED_BY_AT],
    [modified_by, MODIFIED_BY_AT],
  ] as const) {
    if (id === undefined) continue;
    if (id.length !== UUID_LENGTH) throw new RangeError('an application id must be a UUID');
    bytes.write(id, at, 'latin1');
  }
  return bytes;
}

const TYPES: readonly (TokenType | undefined)[] = TOKEN_TYPE_NAMES.reduce<TokenType[]>((types, name) => {
  types[TOKEN_TYPES[name].code] = name;
  return types;
}, []);

/**
 * Returns the clear columns from the bytes of `packClear`. Throws `integrity_failure` for a wrong layout. Does not
 * detect altered columns: with them, the sealed values do not open.
 */
export function unpackClear(clear: Uint8Array): ClearColumns {
  const { buffer, byteOffset, length } = clear;
  const type = TYPES[clear[TYPE_AT] ?? 0];
  const isWhole = clear[0] === LAYOUT && (length === MODIFIED_BY_AT || length === END);
  if (!isWhole || type === undefined) throw new Problem('integrity_failure');
  // DataView is twice as fast as the methods of Buffer; a page of tokens needs a hundred calls.
  const view = new DataView(buffer, byteOffset, length);
  const ids = Buffer.from(buffer, byteOffset, length).toString('latin1', CREATED_BY_AT);
  return {
    type,
    key_id: view.getUint32(KEY_ID_AT),
    index_key_id: view.getUint32(INDEX_KEY_ID_AT),
    revision: readU48(view, REVISION_AT),
    created_at: readU48(view, CREATED_AT),
    modified_at: readU48(view, MODIFIED_AT) || undefined,
    expires_at: readU48(view, EXPIRES_AT) || undefined,
    created_by: ids.slice(0, UUID_LENGTH),
    modified_by: length === END ? ids.slice(UUID_LENGTH) : undefined,
  };
}

function readU48(view: DataView, at: number): number {
  return view.getUint16(at) * 2 ** 32 + view.getUint32(at + 2);
}

/** Returns the condition for tokens whose `created_by` or `modified_by` is this id. */
export function madeBy(column: 'created_by' | 'modified_by', id: string): TokenCondition {
  const bytes = Buffer.from(id);
  if (bytes.length !== UUID_LENGTH) return { some: [] };
  return { clear_in: { offset: column === 'created_by' ? CREATED_BY_AT : MODIFIED_BY_AT, from: bytes, to: bytes } };
}

export function modifiedIn({ from, to }: TimeRange): TokenCondition {
  const [first, last] = [Math.max(from, 1), Math.min(to, 2 ** 48 - 1)].map((at) => {
    const bytes = Buffer.alloc(6);
    if (at > 0) bytes.writeUIntBE(at, 0, 6);
    return bytes;
  }) as [Buffer, Buffer];
  return { clear_in: { offset: MODIFIED_AT, from: first, to: last } };
}

/**
 * Returns the clear columns of a row. Throws `integrity_failure` when the expiry column of the row differs from them.
 */
export function presentedColumns({ clear, expires_at }: Pick<PresentedToken, 'clear' | 'expires_at'>): ClearColumns {
  const columns = unpackClear(clear);
  if (columns.expires_at !== expires_at) throw new Problem('integrity_failure');
  return columns;
}

const INDEXED = ['type', 'created_at', 'expires_at', 'revision', 'key_id', 'index_key_id'] as const;

/**
 * Returns the clear columns of a whole record. Throws `integrity_failure` when any search column of the record differs
 * from them.
 */
export function recordColumns(record: TokenRecord): ClearColumns {
  const columns = unpackClear(record.clear);
  if (INDEXED.some((name) => columns[name] !== record[name])) throw new Problem('integrity_failure');
  return columns;
}
