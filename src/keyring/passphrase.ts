import { Fault } from '../core/fault.ts';

const MIN_CHARACTERS = 12;

/** NFC (UAX #15), then UTF-8: the same passphrase typed on another system gives the same bytes. The caller wipes them. */
export function passphraseBytes(passphrase: string): Uint8Array {
  return Buffer.from(passphrase.normalize('NFC'), 'utf8');
}

/** Throws `weak_passphrase` for fewer than 12 characters, unless that is allowed; an empty one is never a passphrase. */
export function requireStrongPassphrase(passphrase: string, allowWeak: boolean): void {
  const characters = [...passphrase.normalize('NFC')].length;
  if (characters === 0) {
    throw new Fault('weak_passphrase', 'the passphrase is empty', { hint: 'use at least 12 characters' });
  }
  if (characters < MIN_CHARACTERS && !allowWeak) {
    throw new Fault('weak_passphrase', `the passphrase has fewer than ${MIN_CHARACTERS} characters`);
  }
}
