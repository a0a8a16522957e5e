/** The size of a key, in bytes. */
export const KEY_FILE_BYTES = 32;

/** The size of the largest form of a key with `\r\n`. */
export const MAX_KEY_BYTES = 66;

/** The forms of a key, for hints. */
export const KEY_FORMS = '32 random bytes, 64 hex or 44 base64 characters, and at most one newline';

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** The forms of a key: its size, the bits and the value of each digit, and the text after the last digit. */
const FORMS = [
  { size: KEY_FILE_BYTES, bits: 8, valueOf: (digit: string) => digit.charCodeAt(0), end: '' },
  { size: 44, bits: 6, valueOf: (digit: string) => BASE64.indexOf(digit), end: '=' },
  { size: 64, bits: 4, valueOf: (digit: string) => Number.parseInt(digit, 16), end: '' },
] as const;

/**
 * Returns the key in the contents of a key file or the output of a program; undefined without one. The length
 * determines the form, but 32 readable characters are a cut or a wrong text, not random bytes. Makes no string of the
 * key, because a string cannot be wiped.
 */
export function decodeKey(contents: Buffer): Uint8Array | undefined {
  const form = FORMS.find(({ size, end }) => {
    const newline = contents.length - size;
    if (newline < 0 || newline > 2) return false;
    return contents.toString('latin1', size - end.length) === end + ['', '\n', '\r\n'][newline];
  });
  if (form === undefined || (form.bits === 8 && contents.subarray(0, form.size).every(isReadable))) return undefined;
  const key = new Uint8Array(KEY_FILE_BYTES);
  let [at, held, bits] = [0, 0, 0];
  for (const byte of contents.subarray(0, form.size - form.end.length)) {
    const value = form.valueOf(String.fromCharCode(byte));
    if (!(value >= 0)) {
      key.fill(0);
      return undefined;
    }
    held = (held << form.bits) | value;
    bits += form.bits;
    if (bits < 8) continue;
    bits -= 8;
    key[at++] = held >> bits;
    held &= (1 << bits) - 1;
  }
  if (held === 0) return key;
  // The last digit has bits that no key has.
  key.fill(0);
  return undefined;
}

/** Returns whether a byte is a printable or blank character of ASCII. All 32 of a random key are with a chance of 2⁻⁴⁴. */
function isReadable(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d);
}
