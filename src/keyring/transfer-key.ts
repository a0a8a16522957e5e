import { randomBytes } from 'node:crypto';
import { Fault } from '../core/fault.ts';
import type { LargeSodium } from './sodium.ts';
import { KEY_BYTES } from './sub-keys.ts';

/** The prefixes of the two halves of a transfer key. They show which half a file or a flag contains. */
const SECRET_PREFIX = 'vault-transfer-secret-1:';
const PUBLIC_PREFIX = 'vault-transfer-1:';

const BASE64URL = /^[\w-]{43}$/;

/** An X25519 key pair: only the secret half opens what the public half seals. */
export interface TransferKey {
  readonly public_key: Uint8Array;
  readonly secret_key: Uint8Array;
}

/**
 * Creates a key pair and returns each half as a text of one line: the secret half for a file, the public half for
 * senders.
 */
export function newTransferKey(sodium: LargeSodium): { readonly secret: string; readonly recipient: string } {
  const secret = randomBytes(KEY_BYTES);
  const text = {
    secret: print(SECRET_PREFIX, secret),
    recipient: print(PUBLIC_PREFIX, sodium.crypto_scalarmult_base(secret)),
  };
  secret.fill(0);
  return text;
}

/** Returns the key pair of a secret half. Throws the fault `wrong_credential` for a text that is not a secret half. */
export function parseTransferKey(sodium: LargeSodium, text: string): TransferKey {
  const secret_key = parse(SECRET_PREFIX, text);
  if (secret_key === undefined) throw new Fault('wrong_credential', 'this is not a secret key from `vault keygen`');
  return { secret_key, public_key: sodium.crypto_scalarmult_base(secret_key) };
}

/**
 * Returns the key of a public half. Throws the fault `usage` for a text that is not a public half, and for a point
 * without a secret key (RFC 7748 §6.1).
 */
export function parseRecipient(sodium: LargeSodium, text: string): Uint8Array {
  const key = parse(PUBLIC_PREFIX, text);
  if (key !== undefined && canBeSealedFor(sodium, key)) return key;
  throw new Fault('usage', '--recipient must be a public key from `vault keygen`', {
    hint: `pass a key that begins with ${PUBLIC_PREFIX}`,
  });
}

/**
 * Returns whether data can be sealed for a key. libsodium rejects points of low order, because anyone could open data
 * sealed for them.
 */
function canBeSealedFor(sodium: LargeSodium, key: Uint8Array): boolean {
  try {
    sodium.crypto_box_seal(new Uint8Array(0), key);
    return true;
  } catch {
    return false;
  }
}

function print(prefix: string, key: Uint8Array): string {
  return prefix + Buffer.from(key).toString('base64url');
}

function parse(prefix: string, text: string): Uint8Array | undefined {
  const line = text.trim();
  const body = line.slice(prefix.length);
  return line.startsWith(prefix) && BASE64URL.test(body) ? Buffer.from(body, 'base64url') : undefined;
}
