import type { Random } from '../ports.ts';
import { FilterFailure } from './filter-failure.ts';
import { createRandomIndex } from './random-index.ts';

const CARD_NUMBER = /^\d{13,19}$/;

/** Twice a digit, its digits added up (ISO/IEC 7812-1 annex B). No two digits give the same. */
const DOUBLED = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];

/** More than any source of randomness needs: with two open digits one try in ten fails. */
const TRIES = 200;

/**
 * A random card number of the same length with the same first and last digits, Luhn-valid and another one than `number`.
 * All open digits but one are drawn and that one follows from them: each digit contributes to the sum in its own way, so
 * there is always exactly one that fits, and every valid number is equally likely.
 */
export function aliasCard(number: string, first: number, last: number, random: Random): string {
  if (!CARD_NUMBER.test(number)) throw new FilterFailure('needs a card number of 13 to 19 digits');
  const lastOpen = number.length - last - 1;
  if (lastOpen < first) throw new FilterFailure('has nothing to replace');
  const randomIndex = createRandomIndex(random);
  for (let tries = 0; tries < TRIES; tries++) {
    const digits = Array.from(number, Number);
    for (let at = first; at < lastOpen; at++) digits[at] = randomIndex(10);
    digits[lastOpen] = 0;
    const missing = (10 - (luhnSum(digits) % 10)) % 10;
    digits[lastOpen] = isDoubled(lastOpen, number.length) ? DOUBLED.indexOf(missing) : missing;
    const alias = digits.join('');
    if (alias !== number && /[1-9]/.test(alias)) return alias;
  }
  throw new FilterFailure('finds no other card number with these ends');
}

/** Every second digit from the right, the check digit not among them. */
function isDoubled(at: number, length: number): boolean {
  return (length - at) % 2 === 0;
}

function luhnSum(digits: readonly number[]): number {
  return digits.reduce((sum, digit, at) => sum + (isDoubled(at, digits.length) ? (DOUBLED[digit] ?? 0) : digit), 0);
}
