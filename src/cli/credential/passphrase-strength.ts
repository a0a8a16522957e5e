const BITS = { letter: 2.5, digit: 3, other: 4.5, space: 1, repeated: 0.5, mixedCase: 0.5 } as const;

const LABELS = [
  [36, 'weak'],
  [56, 'fair'],
  [76, 'good'],
  [Number.POSITIVE_INFINITY, 'strong'],
] as const;

/**
 * Returns an estimate of a passphrase's strength in bits. Treats letters as parts of words, so they count for less than
 * random letters. Repetitions and sequences (aaaa, 1234, abab) count for almost nothing. Uses no list of common
 * passphrases, so it overrates "password". Underrates random characters.
 */
export function passphraseBits(passphrase: string): number {
  const characters = [...passphrase.normalize('NFC')];
  let bits = 0;
  for (const [at, character] of characters.entries())
    bits += isForeseen(characters, at) ? BITS.repeated : kindBits(character);
  const mixed = /\p{Lu}/u.test(passphrase.slice(1)) && /\p{Ll}/u.test(passphrase);
  return Math.round(mixed ? bits + characters.length * BITS.mixedCase : bits);
}

/** Returns a line that describes the strength of a new passphrase. */
export function describeStrength(passphrase: string): string {
  const bits = passphraseBits(passphrase);
  const label = LABELS.find(([below]) => bits < below)?.[1] ?? 'strong';
  return `${label}: about ${bits} bits. The estimate assumes that the words were chosen at random`;
}

function kindBits(character: string): number {
  if (/\s/u.test(character)) return BITS.space;
  if (/\p{L}/u.test(character)) return BITS.letter;
  return /\p{N}/u.test(character) ? BITS.digit : BITS.other;
}

/**
 * Returns whether a character continues the previous ones: it repeats the last character, continues a sequence, or
 * completes a piece of three that occurred before.
 */
function isForeseen(characters: readonly string[], at: number): boolean {
  const code = (index: number) => characters[index]?.toLowerCase().codePointAt(0) ?? Number.NaN;
  const step = code(at) - code(at - 1);
  if (step === 0 || (Math.abs(step) === 1 && code(at - 1) - code(at - 2) === step)) return true;
  const piece = characters.slice(at - 2, at + 1).join('');
  const before = characters.slice(0, at - 1).join('');
  return at >= 3 && before.includes(piece);
}
