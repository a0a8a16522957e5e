import type { Random } from '../../ports.ts';
import { aliasCard } from '../alias-card.ts';
import { defineFilter, type FilterTools } from '../filter.ts';
import { FilterFailure } from '../filter-failure.ts';
import { createRandomIndex } from '../random-index.ts';

const DIGITS = '0123456789';
const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LOWER = UPPER.toLowerCase();

/** What a character is replaced from; what is in none of these classes is kept. */
const CLASSES: readonly (readonly [RegExp, string])[] = [
  [/^\p{Nd}$/u, DIGITS],
  [/^[\p{Lu}\p{Lt}]$/u, UPPER],
  [/^\p{L}$/u, LOWER],
];

function randomOf(tools: FilterTools): Random {
  if (tools.random === undefined) throw new Error('unreachable: a random filter is not called without a source');
  return tools.random;
}

/** An alias that is the value itself would reveal everything: something must have been replaced. */
function replaceMiddle(
  text: string,
  { first, last }: { readonly first: number; readonly last: number },
  tools: FilterTools,
  alphabetOf: (character: string) => string | undefined,
): string {
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

/** Random stand-ins for a value. Ends that are revealed stay as they are. */
export const ALIAS_FILTERS = {
  /** A letter becomes a letter of the same case, a digit a digit. */
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
    parameters: { ...parameters, last: { kind: 'count', fallback: 4 } },
    apply: (text, { first, last }, tools) => aliasCard(text, first, last, randomOf(tools)),
  }),
};
