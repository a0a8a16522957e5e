import type { Json } from '../../contract/json.ts';
import { MAX_DATA } from '../../contract/limits.ts';
import {
  type DataRule,
  type MemberRule,
  TOKEN_TYPES,
  type TokenType,
  type ValueRule,
} from '../../contract/token-types.ts';
import { isLonger } from '../bytes.ts';
import { isJsonObject, memberNames } from '../json/kind.ts';
import { integerOf } from '../json/number-digits.ts';
import { stringifyJson } from '../json/stringify.ts';
import { invalid, Problem } from '../problem.ts';

const ZERO = 0x30;
const ABA_WEIGHTS = '371371371';

/** Returns whether the digits pass the Luhn check (ISO/IEC 7812-1, annex B). The text must be digits only. */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - ZERO;
    const doubled = at % 2 === 0 ? digit : digit * 2;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/**
 * Returns whether a nine-digit ABA routing number has the right check digit: the sum of its digits, weighted by 3, 7,
 * 1, …, is a multiple of ten.
 */
export function passesAba(digits: string): boolean {
  const sum = [...digits].reduce((total, digit, at) => total + Number(digit) * Number(ABA_WEIGHTS.charAt(at)), 0);
  return sum % 10 === 0;
}

const ONLY_ZEROS = /^0+$/;
const CHECK_DIGITS = { luhn: passesLuhn, aba: passesAba } as const;

/**
 * Returns the errors in the `data` of a token of this type, by dotted path starting with `data`; empty for valid data.
 * A null in an optional member of a card is an error: `data` is stored as sent, so null does not mean "absent".
 */
export function validateData(type: TokenType, data: Json): Record<string, string[]> {
  const rule: DataRule = TOKEN_TYPES[type].data;
  if (rule.kind === 'object') return validateMembers(rule.name, rule.members, data);
  const message = checkValue(rule, data);
  return message === undefined ? {} : { data: [message] };
}

/** Returns the JSON text of a token's data. Throws `invalid_request` when the text is longer than MAX_DATA. */
export function printData(data: Json): string {
  const text = stringifyJson(data);
  if (isLonger(text, MAX_DATA)) throw invalid('data', 'must be at most 4 MiB');
  return text;
}

/** Throws `invalid_request` for invalid data. */
export function checkData(type: TokenType, data: Json): void {
  const errors = validateData(type, data);
  if (Object.keys(errors).length > 0) throw new Problem('invalid_request', { errors });
}

/** Returns the rule's message for an invalid value; undefined for a valid value. */
export function checkValue(rule: ValueRule, value: Json): string | undefined {
  return isRight(rule, value) ? undefined : rule.message;
}

function isRight(rule: ValueRule, value: Json): boolean {
  if (rule.kind === 'any') return value !== null;
  if (rule.kind === 'number') {
    const integer = integerOf(value);
    return integer !== undefined && integer >= rule.minimum && integer <= rule.maximum;
  }
  if (typeof value !== 'string' || !patternOf(rule.pattern).test(value)) return false;
  return rule.checkDigit === undefined || (!ONLY_ZEROS.test(value) && CHECK_DIGITS[rule.checkDigit](value));
}

const patterns = new Map<string, RegExp>();

/** Returns the compiled pattern of a rule. There are few rules. */
function patternOf(source: string): RegExp {
  const pattern = patterns.get(source) ?? new RegExp(source);
  patterns.set(source, pattern);
  return pattern;
}

function validateMembers(object: string, members: Readonly<Record<string, MemberRule>>, data: Json) {
  if (!isJsonObject(data)) return { data: [`must be an object: ${object} with ${namesOf(members)}`] };
  const errors: Record<string, string[]> = {};
  for (const [name, rule] of Object.entries(members)) {
    const { required } = rule;
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    const message = value === undefined ? (required ? 'is required' : undefined) : checkValue(rule, value);
    if (message === undefined) continue;
    errors[`data.${name}`] = [value === null && !required ? `${message}; omit the member if it has no value` : message];
  }
  for (const name of memberNames(data)) {
    if (Object.hasOwn(members, name)) continue;
    errors[`data.${name}`] = [`is not a member of ${object}; its members are ${namesOf(members)}`];
  }
  return errors;
}

function namesOf(members: Readonly<Record<string, MemberRule>>): string {
  return Object.keys(members).join(', ');
}
