import { isUtf8 } from 'node:buffer';

/**
 * Returns the text of bytes in UTF-8, with a byte order mark if there is one; undefined for other bytes. Needs no
 * `TextDecoder`, which jest's environment jsdom lacks.
 */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
