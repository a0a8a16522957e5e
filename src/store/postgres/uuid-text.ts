import { Problem } from '../../core/problem.ts';
import type { Kind } from '../rows/columns.ts';

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The length of a blind index in bytes, which is that of a UUID. */
const BLIND_LENGTH = 16;

/**
 * Returns the id for a lookup in a `uuid` column. Returns null, which equals no column, unless the id is canonical and
 * lower-case: PostgreSQL would accept other forms, and reject most texts with an error.
 */
export function uuidKey(id: string): string | null {
  return CANONICAL.test(id) ? id : null;
}

/** Returns the id for storing. Throws unless the id is canonical and lower-case. */
export function uuidValue(id: string): string {
  if (!CANONICAL.test(id)) {
    throw new RangeError('an id of a tenant or an application must be a canonical lower-case UUID');
  }
  return id;
}

/** Returns the text of a stored UUID. Throws `integrity_failure` for any other value. */
export function storedUuid(value: unknown): string {
  if (typeof value !== 'string' || !CANONICAL.test(value)) throw new Problem('integrity_failure');
  return value;
}

/** UUIDs in columns of the type `uuid`. */
export const uuid: Kind<string> = { type: 'uuid', store: uuidValue, read: storedUuid };

/** Returns a blind index as the text of a UUID. Throws unless it has 16 bytes. */
export function blindText(blind: Uint8Array): string {
  if (blind.length !== BLIND_LENGTH) throw new RangeError(`a blind index must have ${BLIND_LENGTH} bytes`);
  const hex = Buffer.from(blind.buffer, blind.byteOffset, BLIND_LENGTH).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Returns the bytes of a stored blind index. Throws `integrity_failure` for any other value. */
export function storedBlind(value: unknown): Buffer {
  return Buffer.from(storedUuid(value).replaceAll('-', ''), 'hex');
}
