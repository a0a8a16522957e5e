const BITS = { letter: 2.5, digit: 3, other: 4.5, space: 1, repeated: 0.5, mixedCase: 0.5 } as const;

const LABELS = [
  [36, 'weak'],
  [56, 'fair'],
  [76, 'good'],
  [Number.POSITIVE_INFINITY, 'strong'],
] as const;

/**
 * Roughly how many bits of guessing a passphrase costs. Letters count as those of words, which is less than random ones have;
 * what repeats or follows in sequence (aaaa, 1234, abab) counts almost nothing. No list of known passphrases is looked at,
 * so it says too much for "password" and too little for random characters; it never reads what is typed as more than that.
 */
export function passphraseBits(passphrase: string): number {
  const characters = [...passphrase.normalize('NFC')];
  let bits = 0;
  for (const [at, character] of characters.entries())
    bits += isForeseen(characters, at) ? BITS.repeated : kindBits(character);
  const mixed = /\p{Lu}/u.test(passphrase.slice(1)) && /\p{Ll}/u.test(passphrase);
  return Math.round(mixed ? bits + characters.length * BITS.mixedCase : bits);
}

/** Returns the report on a newly chosen passphrase. */
export function describeStrength(passphrase: string): string {
  const bits = passphraseBits(passphrase);
  const label = LABELS.find(([below]) => bits < below)?.[1] ?? 'strong';
  return `${label}: about ${bits} bits, if its words were chosen at random`;
}

function kindBits(character: string): number {
  if (/\s/u.test(character)) return BITS.space;
  if (/\p{L}/u.test(character)) return BITS.letter;
  return /\p{N}/u.test(character) ? BITS.digit : BITS.other;
}

/** The character continues its predecessors: the same, the next in order, or a piece of three or more again. */
function isForeseen(characters: readonly string[], at: number): boolean {
  const code = (index: number) => characters[index]?.toLowerCase().codePointAt(0) ?? Number.NaN;
  const step = code(at) - code(at - 1);
  if (step === 0 || (Math.abs(step) === 1 && code(at - 1) - code(at - 2) === step)) return true;
  const piece = characters.slice(at - 2, at + 1).join('');
  const before = characters.slice(0, at - 1).join('');
  return at >= 3 && before.includes(piece);
}
