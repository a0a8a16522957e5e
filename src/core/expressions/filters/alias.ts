import type { Random } from '../../ports.ts';
import { createRandomIndex } from '../../random-index.ts';
import { passesLuhn } from '../../tokens/validate-data.ts';
import { defineFilter, type FilterTools } from '../filter.ts';
import { FilterFailure } from '../limits.ts';
import { withDigits } from './card.ts';

const DIGITS = '0123456789';
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = UPPER.toLowerCase();

/** The steps of drawing one character. */
const DRAWING = 2;

/** The classes of characters that an alias replaces, with their alphabets; other characters stay. */
const CLASSES: readonly (readonly [RegExp, string])[] = [
  [/^\p{Nd}$/u, DIGITS],
  [/^[\p{Lu}\p{Lt}]$/u, UPPER],
  [/^\p{L}$/u, LOWER],
];

function randomOf(tools: FilterTools): Random {
  if (tools.random === undefined) throw new Error('unreachable: a random filter needs a random source');
  return tools.random;
}

/**
 * Returns a text whose characters between the revealed ends are replaced at random. Throws when it replaces no
 * character, because the alias would reveal the whole value.
 */
function replaceMiddle(
  text: string,
  { first, last }: { readonly first: number; readonly last: number },
  tools: FilterTools,
  alphabetOf: (character: string) => string | undefined,
): string {
  tools.spend(DRAWING * text.length);
  const randomIndex = createRandomIndex(randomOf(tools));
  const characters = [...text];
  const end = characters.length - last;
  let replaced = false;
  const alias = characters.map((character, at) => {
    const alphabet = at >= first && at < end ? alphabetOf(character) : undefined;
    if (alphabet === undefined) return character;
    replaced = true;
    return alphabet.charAt(randomIndex(alphabet.length));
  });
  if (!replaced) throw new FilterFailure('has nothing to replace');
  return alias.join('');
}

const parameters = { first: { kind: 'count', fallback: 0 }, last: { kind: 'count', fallback: 0 } } as const;

/** The filters that return random substitutes for a value. The revealed ends stay unchanged. */
export const ALIAS_FILTERS = {
  /** Replaces a letter with a letter of the same case, and a digit with a digit. */
  alias_preserve_format: defineFilter({
    input: 'text',
    random: true,
    parameters,
    apply: (text, ends, tools) =>
      replaceMiddle(text, ends, tools, (character) => CLASSES.find(([pattern]) => pattern.test(character))?.[1]),
  }),
  alias_preserve_length: defineFilter({
    input: 'text',
    random: true,
    parameters,
    apply: (text, ends, tools) => replaceMiddle(text, ends, tools, () => DIGITS + UPPER + LOWER),
  }),
  alias_card: defineFilter({
    input: 'text',
    random: true,
    parameters: { reveal_bin: { kind: 'bin', fallback: false }, reveal_last4: { kind: 'last_four', fallback: false } },
    apply: (text, { reveal_bin, reveal_last4 }, tools) =>
      withDigits(text, (digits) => aliasCard(digits, reveal_bin, reveal_last4, tools)),
  }),
};

/** The maximum number of attempts. With two digits to draw, one attempt in ten fails. */
const TRIES = 200;

/** The steps of one attempt, which checks ten numbers. */
const TRYING = 64;

/**
 * Returns a random Luhn-valid card number that has the length and the first and last digits of `number` but differs
 * from it. Draws all open digits except the last, which the Luhn checksum determines uniquely, so every valid number is
 * equally likely.
 */
function aliasCard(number: string, first: number, last: number, tools: FilterTools): string {
  const lastOpen = number.length - last - 1;
  if (lastOpen < first) throw new FilterFailure('has nothing to replace');
  const [head, tail] = [number.slice(0, first), number.slice(lastOpen + 1)];
  const randomIndex = createRandomIndex(randomOf(tools));
  for (let tries = 0; tries < TRIES; tries++) {
    tools.spend(TRYING);
    const drawn = Array.from({ length: lastOpen - first }, () => randomIndex(10)).join('');
    const alias = Array.from(DIGITS, (digit) => head + drawn + digit + tail).find(passesLuhn);
    if (alias !== undefined && alias !== number && /[1-9]/.test(alias)) return alias;
  }
  throw new FilterFailure('finds no other card number with these ends');
}
