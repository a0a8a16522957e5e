/**
 * The kind of secret that a canary marks. `data`: token contents, shown only to revealing readers. `key`: an API key or
 * a passphrase, shown once, to its creator. `sealed`: everything else that is stored encrypted. `clear`: token ids,
 * which appear in the file but not in logs.
 */
export type CanaryKind = 'data' | 'key' | 'sealed' | 'clear';

/** A unique text. Finding it anywhere means a leak. */
interface Canary {
  readonly name: string;
  readonly kind: CanaryKind;
  readonly value: string | Uint8Array;
}

export interface Needle {
  readonly canary: string;
  readonly kind: CanaryKind;
  readonly encoding: string;
  readonly bytes: Uint8Array;
}

export type Canaries = ReturnType<typeof createCanaries>;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const WORD_LENGTH = 20;

/** Creates and keeps canaries. The same random numbers create the same canaries. */
export function createCanaries(random: () => number) {
  const made: Canary[] = [];
  const some = (alphabet: string, count: number) =>
    Array.from({ length: count }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  /** Adds a value that was created elsewhere, such as an API key or a key file. */
  const keep = <Value extends string | Uint8Array>(name: string, kind: CanaryKind, value: Value) => {
    made.push({ name, kind, value });
    return value;
  };
  return {
    /** Creates lower-case letters and digits, which case folding does not change, followed by `end`. */
    word: (name: string, kind: CanaryKind = 'sealed', end = '') => keep(name, kind, some(LETTERS, WORD_LENGTH) + end),
    /** Creates a 16-digit card number with a valid Luhn sum. */
    card: (name: string) => keep(name, 'data', withLuhn(`4${some('0123456789', 14)}`)),
    digits: (name: string, count: number) => keep(name, 'data', some('0123456789', count)),
    keep,
    all: (): readonly Canary[] => made,
  };
}

function withLuhn(digits: string): string {
  const doubled = [...digits].reverse().map((digit, index) => Number(digit) * (index % 2 === 0 ? 2 : 1));
  const sum = doubled.reduce((total, value) => total + (value > 9 ? value - 9 : value), 0);
  return digits + ((10 - (sum % 10)) % 10);
}

/** Returns every encoding of a value to search for, by name. */
export function encodings(value: string | Uint8Array): Readonly<Record<string, Uint8Array>> {
  const plain = Buffer.from(value);
  const utf16 = () => Buffer.from(String(value), 'utf16le');
  const forms: Record<string, Uint8Array> = {
    plain,
    ...(typeof value === 'string' && { utf16le: utf16(), utf16be: utf16().swap16() }),
    hex: Buffer.from(plain.toString('hex')),
    hex_upper: Buffer.from(plain.toString('hex').toUpperCase()),
  };
  for (const alphabet of ['base64', 'base64url'] as const) {
    for (const before of [0, 1, 2]) {
      forms[`${alphabet}_${before}`] = Buffer.from(base64Within(plain, before, alphabet));
    }
  }
  return forms;
}

/** Returns the base64 characters that depend only on `bytes` when `before` bytes, modulo 3, precede them. */
function base64Within(bytes: Buffer, before: number, alphabet: 'base64' | 'base64url'): string {
  const whole = Buffer.concat([Buffer.alloc(before), bytes]);
  return whole.toString(alphabet).slice(Math.ceil((before * 8) / 6), Math.floor((whole.length * 8) / 6));
}

/** Returns all encodings of all canaries, without duplicates. */
export function needlesOf(canaries: readonly Canary[]): readonly Needle[] {
  return canaries.flatMap(({ name, kind, value }) => {
    const forms = new Map<string, Needle>();
    for (const [encoding, bytes] of Object.entries(encodings(value))) {
      const hex = Buffer.from(bytes).toString('hex');
      if (!forms.has(hex)) forms.set(hex, { canary: name, kind, encoding, bytes });
    }
    return [...forms.values()];
  });
}
