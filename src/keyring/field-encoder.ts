import { freeBytes } from '../core/bytes.ts';

const TAG = { absent: 0, ascii: 1, utf16: 2, number: 3, bytes: 4, list: 5 } as const;

const INITIAL_CAPACITY = 256;
/** The maximum capacity that the encoder of `encodeFields` keeps between calls, in bytes. */
const MAX_KEPT = 64 * 1024;

/** A value that a context can contain. */
export type Field = string | number | Uint8Array | undefined | readonly Field[];

/**
 * Encodes a sequence of values so that different sequences never give the same bytes. Contexts, MACs and keyed hashes
 * use these bytes. Each field states its type and, if it varies, its length; integers are big endian.
 *
 *     00                          absent
 *     01 ‖ length u32 ‖ bytes     text whose code units are all below 0x80, one byte each
 *     02 ‖ length u32 ‖ bytes     any other text, UTF-16LE: lone surrogates stay distinct from each other and from U+FFFD
 *     03 ‖ IEEE 754 double        number
 *     04 ‖ length u32 ‖ bytes     bytes
 *     05 ‖ count u32              a list: this many fields follow
 *
 * With a prefix, the bytes start with it.
 */
export class FieldEncoder {
  readonly #start: number;
  #bytes: Buffer;
  #view: DataView;
  #length: number;

  constructor(prefix: Uint8Array = new Uint8Array(0)) {
    // `Buffer.alloc` does not use the shared pool, so this buffer can be wiped and replaced as a whole.
    this.#bytes = Buffer.alloc(prefix.length + INITIAL_CAPACITY);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
    this.#bytes.set(prefix);
    this.#start = prefix.length;
    this.#length = prefix.length;
  }

  /** Returns a view of the prefix and the encoded fields, valid until the next call. */
  encode(...fields: readonly Field[]): Uint8Array {
    this.#length = this.#start;
    for (const field of fields) this.#field(field);
    // This is faster than Buffer.subarray.
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#length);
  }

  #field(value: Field): void {
    if (typeof value === 'string') this.#text(value);
    else if (typeof value === 'number') {
      this.#reserve(9);
      this.#bytes[this.#length] = TAG.number;
      this.#view.setFloat64(this.#length + 1, value);
      this.#length += 9;
    } else if (value === undefined) {
      this.#reserve(1);
      this.#bytes[this.#length++] = TAG.absent;
    } else if (Array.isArray(value)) {
      this.#reserve(5);
      this.#tag(TAG.list, value.length);
      for (const each of value) this.#field(each);
    } else {
      const bytes = value as Uint8Array;
      this.#reserve(5 + bytes.length);
      this.#tag(TAG.bytes, bytes.length);
      this.#bytes.set(bytes, this.#length);
      this.#length += bytes.length;
    }
  }

  #text(value: string): void {
    this.#reserve(5 + 3 * value.length);
    const at = this.#length + 5;
    // Only an ASCII text has as many bytes in UTF-8 as code units.
    let size = this.#bytes.write(value, at);
    if (size === value.length) {
      this.#tag(TAG.ascii, size);
    } else {
      // The text may have fewer bytes in UTF-16, and `wipe` clears only these.
      this.#bytes.fill(0, at, at + size);
      size = this.#bytes.write(value, at, 'utf16le');
      this.#tag(TAG.utf16, size);
    }
    this.#length += size;
  }

  /** Wipes the encoded fields, and frees a buffer that a long value has grown. The encoder has no prefix. */
  wipe(): void {
    this.#bytes.fill(0, this.#start, this.#length);
    this.#length = this.#start;
    if (this.#bytes.length <= MAX_KEPT) return;
    freeBytes(this.#bytes);
    this.#bytes = Buffer.alloc(INITIAL_CAPACITY);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.length);
  }

  #tag(tag: number, size: number): void {
    this.#bytes[this.#length] = tag;
    this.#view.setUint32(this.#length + 1, size);
    this.#length += 5;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = Buffer.alloc(Math.max(2 * this.#bytes.length, this.#length + more));
    grown.set(this.#bytes);
    // Wipe the old buffer: it may contain a secret value.
    this.#bytes.fill(0);
    freeBytes(this.#bytes);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer, grown.byteOffset, grown.length);
  }
}

const shared = new FieldEncoder();

/** Returns the encoding of a sequence of fields. The caller owns the bytes and must wipe them if they are secret. */
export function encodeFields(...fields: readonly Field[]): Uint8Array {
  return withFields(fields, (bytes) => new Uint8Array(bytes));
}

/**
 * Returns the result of `read` for the encoding of a sequence of fields, which is wiped afterwards. `read` must neither
 * keep the bytes nor encode other fields.
 */
export function withFields<T>(fields: readonly Field[], read: (bytes: Uint8Array) => T): T {
  try {
    return read(shared.encode(...fields));
  } finally {
    shared.wipe();
  }
}
