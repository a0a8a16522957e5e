import type { Json } from '../../contract/json.ts';
import { Fault } from '../../core/fault.ts';
import { JsonNumber } from '../../core/json/kind.ts';
import { JsonSyntaxError, parseJson } from '../../core/json/parse.ts';
import { formatInstant } from '../../core/time.ts';
import { wallTime } from '../../core/timers.ts';
import type { ReadText } from '../files/text-reader.ts';
import { parseDuration } from '../flags/quantities.ts';
import type { FlagKind, MemberFlag } from './member-flags.ts';
import { shorthandToJson } from './shorthand.ts';
import { wrongMember } from './wrong-member.ts';

/** Matches a duration from or before now, such as `90m`. Other text is passed on to the API, which checks times. */
const DURATION = /^\d{1,5}(\.\d{1,3})?[smhd]$/;

/** Matches a word, or a number with a unit. No time has this form. */
const NO_TIME = /^[\d.]*\s*[a-z]+$/i;

/** Matches text with an expression. JSON that can contain one begins with `{`, `[` or `"`. */
const EXPRESSION = /^\s*(?:\{\{|[^\s{["].*\{\{)/s;

type ToJson = (flag: MemberFlag, typed: string, read: ReadText) => string | Promise<string>;

/**
 * Functions that return the value of one occurrence of a flag as JSON text, by kind of flag. They check values but
 * never rewrite them, so numbers keep their digits.
 */
const CONVERSIONS: Readonly<Record<Exclude<FlagKind, 'pairs' | 'shorthand'>, ToJson>> = {
  literal: (_flag, typed) => JSON.stringify(typed),
  time: (flag, typed) => {
    if (DURATION.test(typed)) {
      return JSON.stringify(formatInstant(Math.round(wallTime() + parseDuration(`--${flag.name}`, typed))));
    }
    if (!NO_TIME.test(typed)) return JSON.stringify(typed);
    throw wrongMember(
      flag,
      'must be a duration from now (90m, 12h or 30d; at most 99999 of a unit), or an ISO 8601 date or date-time',
    );
  },
  age: (flag, typed) => JSON.stringify(timeOfAge(flag, typed)),
  text: async (flag, typed, read) => {
    const text = withoutLineEnd(await read(`--${flag.name}`, typed), typed);
    // Reject empty standard input, because the command before the pipe has probably failed.
    if (typed !== '-' || text !== '') return JSON.stringify(text);
    throw new Fault('usage', `--${flag.name}: standard input is empty`, {
      hint: `--${flag.name} '' stores an empty text`,
    });
  },
  boolean: (flag, typed) => {
    if (typed === 'true' || typed === 'false') return typed;
    throw wrongMember(flag, 'must be true or false', `before another argument, write --${flag.name}=true`);
  },
  number: (flag, typed) => {
    const value = checked(flag, typed);
    if (typeof value === 'number' || value instanceof JsonNumber) return typed.trim();
    throw wrongMember(flag, 'must be a number');
  },
  json: async (flag, typed, read) => {
    const text = await read(`--${flag.name}`, typed);
    if (flag.expression && EXPRESSION.test(text)) return JSON.stringify(withoutLineEnd(text, typed));
    checked(flag, text);
    return text.trim();
  },
};

/**
 * Returns the JSON text of the member that `flag` sets, from every occurrence of the flag. `cleared` are members of an
 * object of pairs that a merge patch removes.
 */
export async function flagToJson(
  flag: MemberFlag,
  typed: readonly string[],
  read: ReadText,
  cleared: readonly string[] = [],
): Promise<string> {
  if (flag.kind === 'pairs') return pairsToJson(flag, typed, cleared);
  if (flag.kind === 'shorthand') return objectsToJson(flag, typed, read);
  const convert = CONVERSIONS[flag.kind];
  if (!flag.repeatable) return convert(flag, typed.at(-1) ?? '', read);
  const items: string[] = [];
  for (const one of splitLists(flag, typed)) items.push(await convert(flag, one, read));
  return `[${items.join(',')}]`;
}

/** Returns the values of a repeatable flag. Splits one at commas if every part is a valid item and the whole is not. */
export function splitLists({ schema }: Pick<MemberFlag, 'schema'>, typed: readonly string[]): readonly string[] {
  const { enum: known, pattern } = schema.items ?? {};
  const words: readonly unknown[] = known ?? [];
  const isItem = (text: string) =>
    words.includes(text) || (pattern !== undefined && new RegExp(pattern, 'u').test(text));
  return typed.flatMap((one) => {
    const parts = one.split(',');
    return !isItem(one) && parts.every(isItem) ? parts : [one];
  });
}

/**
 * Returns the time of an age such as `15m`. Returns a time unchanged, because the API checks it. Throws the fault
 * `invalid_request` for other text.
 */
export function timeOfAge(flag: MemberFlag, typed: string): string {
  if (DURATION.test(typed)) return formatInstant(Math.round(wallTime() - parseDuration(`--${flag.name}`, typed)));
  if (/^\d{4}-/.test(typed)) return typed;
  throw wrongMember(flag, 'must be an age such as 15m, 24h or 7d, or an ISO 8601 date or time');
}

/** Splits `k=v` at the first `=`, because only the value may contain `=`. Throws the fault `invalid_request`. */
export function splitPair(flag: MemberFlag, typed: string): readonly [name: string, value: string] {
  const at = typed.indexOf('=');
  if (at > 0) return [typed.slice(0, at), typed.slice(at + 1)];
  throw wrongMember(flag, 'must be name=value');
}

function pairsToJson(flag: MemberFlag, typed: readonly string[], cleared: readonly string[]): string {
  const pairs = new Map<string, string | null>(cleared.map((name) => [name, null]));
  for (const one of typed) {
    const [name, value] = splitPair(flag, one);
    if (cleared.includes(name)) throw new Fault('usage', `--${flag.name} and --clear name the same member`);
    if (pairs.has(name)) throw wrongMember(flag, 'names the same member twice');
    pairs.set(name, value);
  }
  return `{${[...pairs].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

/** Returns the JSON array of all objects of a flag. A value is JSON (an object or an array) or an object in words. */
async function objectsToJson(flag: MemberFlag, typed: readonly string[], read: ReadText): Promise<string> {
  const texts: string[] = [];
  let count = 0;
  for (const one of typed) {
    const text = (await read(`--${flag.name}`, one)).trim();
    if (/^[{[]/.test(text)) {
      const value = checked(flag, text);
      const isList = Array.isArray(value);
      count += isList ? value.length : 1;
      texts.push(isList ? text.slice(1, -1).trim() : text);
    } else {
      count += 1;
      texts.push(shorthandToJson(flag, flag.schema.items ?? {}, text, count));
    }
  }
  return `[${texts.filter((text) => text !== '').join(',')}]`;
}

/** Parses the JSON of a flag. Throws `invalid_request` with the position of an error but not the text, which may be a secret. */
function checked(flag: MemberFlag, text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const quoted = flag.expression ? `write a text without {{ }} in double quotes: --${flag.name} '"text"'` : undefined;
    const hint = flag.member === 'data' ? 'pass a plain string with --text' : quoted;
    const where = `at character ${error.position + 1}`;
    throw wrongMember(flag, `is not JSON: ${error.reason.replace(/\.$/, '')} ${where}`, hint);
  }
}

/** Removes the line end, which `echo` and editors add, from a text of one line. Keeps that of several lines (PEM). */
function withoutLineEnd(text: string, typed: string): string {
  if (typed === text) return text;
  const line = text.replace(/\r?\n$/, '');
  return line.includes('\n') ? text : line;
}
