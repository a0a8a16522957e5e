import { Problem } from '../../core/problem.ts';

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The 16 bytes that stand for a UUID in a lookup. Null, which no column equals, for anything but canonical lower case. */
export function uuidKey(id: string): Buffer | null {
  return CANONICAL.test(id) ? Buffer.from(id.replaceAll('-', ''), 'hex') : null;
}

/** The 16 bytes that a UUID is stored as. Their order is the order of the canonical texts. Throws for any other text. */
export function uuidBytes(id: string): Buffer {
  const bytes = uuidKey(id);
  if (bytes === null) throw new RangeError('an id of a tenant or an application must be a canonical lower-case UUID');
  return bytes;
}

export function optionalUuidBytes(id: string | undefined): Buffer | null {
  return id === undefined ? null : uuidBytes(id);
}

/** Of a damaged row anything may come, whatever the table's declaration says: throws `integrity_failure`. */
export function uuidText(bytes: Buffer): string {
  if (!Buffer.isBuffer(bytes)) throw new Problem('integrity_failure');
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function optionalUuidText(bytes: Buffer | null): string | undefined {
  return bytes === null ? undefined : uuidText(bytes);
}
