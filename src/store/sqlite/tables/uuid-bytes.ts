import { Problem } from '../../../core/problem.ts';
import type { Kind } from '../../rows/columns.ts';

const UUID_LENGTH = 16;

/**
 * The maximum number of entries in each of the two caches. A vault has few tenants and applications, and every row
 * refers to some.
 */
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
 * Returns the 16 bytes of a UUID for a lookup; do not write to them. Returns null, which equals no column, unless the
 * text is canonical and lower-case.
 */
export function uuidKey(id: string): Buffer | null {
  const known = keys.get(id);
  if (known !== undefined) return known;
  return CANONICAL.test(id) ? remember(keys, id, Buffer.from(id.replaceAll('-', ''), 'hex')) : null;
}

/**
 * Returns the 16 bytes of a UUID for storing; their order is that of the texts. Throws unless the text is canonical and
 * lower-case.
 */
export function uuidBytes(id: string): Buffer {
  const bytes = uuidKey(id);
  if (bytes === null) throw new RangeError('an id of a tenant or an application must be a canonical lower-case UUID');
  return bytes;
}

/** Returns the text of a stored UUID. Throws `integrity_failure` for any other value, as in a damaged row. */
export function uuidText(bytes: unknown): string {
  if (!Buffer.isBuffer(bytes) || bytes.length !== UUID_LENGTH) throw new Problem('integrity_failure');
  const name = bytes.toString('latin1');
  const known = texts.get(name);
  if (known !== undefined) return known;
  return remember(texts, name, uuidOfHex(bytes.toString('hex')));
}

/** The last text. A text of joined slices costs more to make, and V8 joins it only when it is hashed. */
const WRITTEN = Buffer.alloc(36, '-');
const DIGIT_POSITIONS = Array.from(WRITTEN.keys()).filter((at) => ![8, 13, 18, 23].includes(at));

/** Returns the UUID of the 32 hexadecimal digits at the position `at` of a text, in lower case. */
export function uuidOfHex(text: string, at = 0): string {
  for (let n = 0; n < DIGIT_POSITIONS.length; n += 1) {
    // This bit makes letters lower-case. Digits have it already.
    WRITTEN[DIGIT_POSITIONS[n] as number] = text.charCodeAt(at + n) | 0x20;
  }
  return WRITTEN.toString('latin1');
}

/** UUIDs in columns of bytes. */
export const uuid: Kind<string> = { type: 'uuid', store: uuidBytes, read: uuidText };
