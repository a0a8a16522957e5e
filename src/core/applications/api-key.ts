import { API_KEY } from '../../contract/patterns.ts';
import { BASE58_ALPHABET } from '../base58.ts';
import { crc32 } from '../crc32.ts';
import type { Random } from '../ports.ts';

const PREFIX = 'key_';
const SECRET_CHARACTERS = 26;
const CHECKSUM_CHARACTERS = 6;
const FORMAT = new RegExp(API_KEY);

const BASE = BASE58_ALPHABET.length;
/** The largest multiple of 58 in a byte: what is at or above it is thrown away, or some characters would be likelier. */
const UNBIASED = 256 - (256 % BASE);

/** CRC-32 over the secret's characters, in base 58 with leading `1`s. Whoever scans for keys needs nothing of ours for it. */
function checksum(secret: string): string {
  let value = crc32(Buffer.from(secret, 'ascii'));
  let text = '';
  for (let index = 0; index < CHECKSUM_CHARACTERS; index++) {
    text = BASE58_ALPHABET.charAt(value % BASE) + text;
    value = Math.floor(value / BASE);
  }
  return text;
}

/** A new API key (decisions §6): `key_`, 26 characters of base 58 (152 bits of randomness), 6 of checksum. */
export function generateApiKey(random: Random): string {
  let secret = '';
  while (secret.length < SECRET_CHARACTERS) {
    for (const byte of random.bytes(SECRET_CHARACTERS)) {
      if (byte < UNBIASED && secret.length < SECRET_CHARACTERS) secret += BASE58_ALPHABET.charAt(byte % BASE);
    }
  }
  return PREFIX + secret + checksum(secret);
}

/** Whether a text looks like an API key. */
export function hasApiKeyFormat(text: string): boolean {
  return FORMAT.test(text);
}

/** Whether a text can be an API key at all. A mistyped or made-up one is told without looking for it in the store. */
export function isApiKey(text: string): boolean {
  if (!hasApiKeyFormat(text)) return false;
  const secret = text.slice(PREFIX.length, PREFIX.length + SECRET_CHARACTERS);
  return text.slice(PREFIX.length + SECRET_CHARACTERS) === checksum(secret);
}
