import { crc32 } from 'node:zlib';
import { API_KEY } from '../../contract/schema.ts';
import { BASE58_ALPHABET, base58 } from '../base58.ts';
import type { Random } from '../ports.ts';
import { createRandomIndex } from '../random-index.ts';

const PREFIX = 'key_';
const SECRET_CHARACTERS = 26;
const CHECKSUM_CHARACTERS = 6;
const FORMAT = new RegExp(API_KEY);

/**
 * Returns the checksum of a secret: its CRC-32 in base 58, padded with leading `1`s. Secret scanners can compute it
 * without our code.
 */
function checksum(secret: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(secret));
  return base58(bytes).padStart(CHECKSUM_CHARACTERS, '1');
}

/**
 * Creates an API key (decisions §6): `key_`, 26 base 58 characters (152 bits of randomness) and 6 characters of
 * checksum.
 */
export function generateApiKey(random: Random): string {
  const randomIndex = createRandomIndex(random, SECRET_CHARACTERS);
  const character = () => BASE58_ALPHABET.charAt(randomIndex(BASE58_ALPHABET.length));
  const secret = Array.from({ length: SECRET_CHARACTERS }, character).join('');
  return PREFIX + secret + checksum(secret);
}

/** Returns whether a text has the form of an API key. Does not check the checksum. */
export function hasApiKeyFormat(text: string | undefined): text is string {
  return text !== undefined && FORMAT.test(text);
}

/**
 * Returns whether a text has the form and the checksum of an API key. This rejects mistyped and made-up keys without
 * reading the store.
 */
export function isApiKey(text: string): boolean {
  if (!hasApiKeyFormat(text)) return false;
  const secret = text.slice(PREFIX.length, PREFIX.length + SECRET_CHARACTERS);
  return text.slice(PREFIX.length + SECRET_CHARACTERS) === checksum(secret);
}
