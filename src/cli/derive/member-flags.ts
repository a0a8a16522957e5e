import type { Operation } from '../../contract/operations.ts';
import { MAX_INTEGER } from '../../contract/page.ts';
import type { Schema } from '../../contract/schema.ts';
import { allowsNull, typeOf, wordsOf } from './shorthand.ts';

/**
 * How the word after a flag becomes a value:
 * - `literal`: the word is the string.
 * - `time`: the word is the string, or a duration from now.
 * - `age`: the word is the string, or a duration before now.
 * - `number`, `boolean`: the word is the JSON value.
 * - `json`: the word is JSON, `@file`, or `-` for standard input.
 * - `text`: like `json`, but the text is a plain string.
 * - `pairs`: each word `k=v` is a member of an object of strings.
 * - `shorthand`: like `json`, or words `name=value` that describe one object.
 */
export type FlagKind = 'literal' | 'time' | 'age' | 'number' | 'boolean' | 'json' | 'text' | 'pairs' | 'shorthand';

/** One flag of an operation's subcommand, derived from one property of the row's schemas. */
export interface MemberFlag {
  /** The flag's name in kebab-case, without the dashes. */
  readonly name: string;
  /** The member of the body or query that the flag sets; a dot separates an object of the body from its member. */
  readonly member: string;
  readonly part: 'query' | 'body';
  readonly kind: FlagKind;
  /** Whether the flag may occur several times. Its values form one array, or one object of pairs. */
  readonly repeatable: boolean;
  /** Whether the value may be an expression. Text with `{{` that is not JSON is sent as a string. */
  readonly expression: boolean;
  /** Whether the member may be null, which `--clear` sets in a merge patch. */
  readonly clearable: boolean;
  readonly schema: Schema;
  readonly help: string;
}

/** Members whose value is any JSON but often plain text, with the name of the flag for plain text. */
const TEXT_ALTERNATIVES: Readonly<Record<string, string>> = { data: 'text' };

/** The members that accept durations, too. */
const TIME_KINDS: Readonly<Record<string, 'time' | 'age'>> = {
  expires_at: 'time',
  start_date: 'age',
  end_date: 'age',
};

/** Returns the flags of an operation: the query's and then the body's, each in the order of the schema. */
export function memberFlags(operation: Operation): readonly MemberFlag[] {
  return (['query', 'body'] as const).flatMap((part) => {
    const schema = operation[part];
    return Object.entries(schema?.properties ?? {}).flatMap(([member, property]) => {
      if (property.readOnly) return [];
      const { flags = {}, spread } = operation.cli;
      if (member === spread) {
        return Object.entries(property.properties ?? {}).flatMap(([name, inner]) =>
          flagsOfMember(part, `${member}.${name}`, inner, false, flags[name]),
        );
      }
      const required = schema?.required?.includes(member) ?? false;
      return flagsOfMember(part, member, property, required, flags[member]);
    });
  });
}

function flagsOfMember(
  part: 'query' | 'body',
  member: string,
  schema: Schema,
  required: boolean,
  rename: string | undefined,
): readonly MemberFlag[] {
  const repeatable = typeOf(schema) === 'array';
  const kind = TIME_KINDS[member] ?? (repeatable ? itemKind(schema.items ?? {}) : kindOf(schema));
  const own = member.slice(member.lastIndexOf('.') + 1);
  const flag: MemberFlag = {
    name: rename ?? (repeatable ? singular(own) : own).replaceAll('_', '-'),
    member,
    part,
    kind,
    repeatable: repeatable || kind === 'pairs',
    expression: kind === 'json' && (schema.examples ?? []).some((example) => String(example).startsWith('{{')),
    clearable: allowsNull(schema),
    schema,
    help: describeMember(schema, kind, required),
  };
  const alternative = kind === 'json' ? TEXT_ALTERNATIVES[member] : undefined;
  if (alternative === undefined) return [flag];
  const help = `\`${member}\` as a plain string: text, @file, or - for standard input. One line loses its line end.`;
  return [flag, { ...flag, name: alternative, kind: 'text', expression: false, help }];
}

/** Returns the name of one item of a list. */
const singular = (name: string) => name.replace(/ies$/, 'y').replace(/(?<=x)es$|s$/, '');

/** Returns whether `--all` walks the operation's pages, by cursor or by number. */
export function takesAll({ cli, query }: Operation): boolean {
  return cli.walk !== undefined || query?.properties?.['page'] !== undefined;
}

/** Returns the kind of an array's items. Objects with known members accept the shorthand. */
function itemKind(items: Schema): FlagKind {
  return typeOf(items) === 'object' && items.properties !== undefined ? 'shorthand' : kindOf(items);
}

function kindOf(schema: Schema): FlagKind {
  const type = typeOf(schema);
  if (schema.enum !== undefined || type === 'string') return 'literal';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'boolean') return 'boolean';
  return isStringMap(schema) ? 'pairs' : 'json';
}

/** Returns whether every possible member of the object is a string. */
function isStringMap(schema: Schema): boolean {
  if (typeOf(schema) !== 'object') return false;
  const others = schema.additionalProperties;
  if (others === true || others === undefined) return false;
  const values = [...Object.values(schema.properties ?? {}), ...(others === false ? [] : [others])];
  return values.length > 0 && values.every((value) => kindOf(value) === 'literal');
}

/**
 * Returns the help text of a flag: the member, its form, its limits, and an example if the form needs one. A
 * description that mentions characters already gives the limits.
 */
function describeMember(schema: Schema, kind: FlagKind, required: boolean): string {
  const measured = schema.maxLength === undefined ? (schema.items ?? {}) : schema;
  const choices = (schema.items ?? schema).enum;
  const tellsLength = schema.description?.includes(' characters');
  // Omit a minimum of one character, because it is obvious.
  const minLength = measured.minLength === 1 ? 0 : measured.minLength;
  const facts = [
    required && 'required',
    choices && `one of ${choices.join(', ')}`,
    ...Object.entries(schema.properties ?? {}).map(
      ([name, { enum: values }]) => values && `${name}=${values.join('|')}`,
    ),
    !tellsRange(schema) && range('', schema.minimum, schema.maximum === MAX_INTEGER ? undefined : schema.maximum),
    !tellsLength && range(' characters', minLength || undefined, measured.maxLength),
    range(' values', schema.minItems, schema.maxItems),
    range(' pairs', undefined, schema.maxProperties),
    schema.default !== undefined && `default: ${String(schema.default)}`,
    example(schema),
  ].filter(Boolean);
  // The word `null` is plain text for these flags, so the help names --clear instead of the API's null.
  const description = kind === 'json' ? schema.description : schema.description?.replaceAll(/\bnull\b/g, '--clear');
  const text = [description, howToGive(schema, kind)].filter(Boolean).join(' ');
  return facts.length === 0 ? text : `${text} (${facts.join('; ')})`.trimStart();
}

/** Returns whether a description already gives the limits of a number: `from 1`, `1 to 100`. */
function tellsRange({ description = '', minimum, maximum }: Schema): boolean {
  const end = maximum === undefined || maximum === MAX_INTEGER ? '' : ` to ${maximum}`;
  return description.includes(end === '' ? `from ${minimum}` : `${minimum}${end}`);
}

function howToGive(schema: Schema, kind: FlagKind): string {
  if (kind === 'time') return 'Also accepts a duration from now: 90m, 12h, 30d.';
  if (kind === 'age') return 'Also accepts an age: 15m, 24h, 30d.';
  if (kind === 'json') return 'JSON, @file, or - for standard input.';
  if (kind === 'shorthand') {
    return `Repeatable: JSON, @file, or the words ${wordsOf(schema.items ?? {})}.`;
  }
  return kind === 'pairs' || typeOf(schema) === 'array' ? 'Repeatable.' : '';
}

function example(schema: Schema): string | undefined {
  const text = schema.examples?.[0] ?? schema.items?.examples?.[0];
  return typeof text !== 'string' || schema.description?.includes(text) ? undefined : `such as ${text}`;
}

function range(unit: string, minimum: number | undefined, maximum: number | undefined): string | undefined {
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}${unit}`;
  if (maximum !== undefined) return `at most ${maximum}${unit}`;
  return minimum === undefined ? undefined : `at least ${minimum}${unit}`;
}
