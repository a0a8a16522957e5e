import { Problem } from '../../../core/problem.ts';

/** The length of a UUID in bytes. */
const UUID_LENGTH = 16;

/** The cache size in each direction. A vault has few tenants and applications, and every row names some. */
const REMEMBERED = 1_000;

const keys = new Map<string, Buffer>();
const texts = new Map<string, string>();

function remember<T>(known: Map<string, T>, name: string, value: T): T {
  if (known.size >= REMEMBERED) known.clear();
  known.set(name, value);
  return value;
}

const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Returns the 16 bytes of a UUID for a lookup, read-only. Returns null, which no column equals, for anything but
 * canonical lower case.
 */
export function uuidKey(id: string): Buffer | null {
  const known = keys.get(id);
  if (known !== undefined) return known;
  return CANONICAL.test(id) ? remember(keys, id, Buffer.from(id.replaceAll('-', ''), 'hex')) : null;
}

/** Returns the 16 bytes for storing a UUID, in the order of the canonical texts. Throws for any other text. */
export function uuidBytes(id: string): Buffer {
  const bytes = uuidKey(id);
  if (bytes === null) throw new RangeError('an id of a tenant or an application must be a canonical lower-case UUID');
  return bytes;
}

/** Throws `integrity_failure` for a stored value that is no UUID: a damaged row may hold anything. */
export function uuidText(bytes: unknown): string {
  if (!Buffer.isBuffer(bytes) || bytes.length !== UUID_LENGTH) throw new Problem('integrity_failure');
  const name = bytes.toString('latin1');
  const known = texts.get(name);
  if (known !== undefined) return known;
  const hex = bytes.toString('hex');
  const text = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  return remember(texts, name, text);
}
