import type { Json } from '../../contract/json.ts';
import type { Schema, TypeName } from '../../contract/schema.ts';
import { JsonNumber } from '../../core/json/json-number.ts';
import { memberNames } from '../../core/json/member-names.ts';
import { nearestName } from '../../core/nearest-name.ts';
import { asObject } from '../output/result-view.ts';

export type MemberPath = readonly (string | number)[];

/** What one member does wrong. The value is not repeated: it may be a secret. */
export interface Flaw {
  readonly path: MemberPath;
  readonly message: string;
}

/**
 * Holds a value to a schema of the contract's subset, and answers every flaw, in the order of the file. The compiled
 * validators of requests stay out of this: they would be loaded by every command for the sake of this one.
 */
export function checkSchema(schema: Schema, value: Json, path: MemberPath = []): readonly Flaw[] {
  const flaw = (message: string): readonly Flaw[] => [{ path, message }];
  if (schema.enum !== undefined)
    return schema.enum.includes(String(value)) ? checkEnum(value, flaw) : flaw(oneOf(schema.enum));
  if (schema.type === undefined) return [];
  const type = typeof schema.type === 'string' ? schema.type : schema.type[0];
  if (!TYPES[type].is(value)) return flaw(`must be ${TYPES[type].said}`);
  if (typeof value === 'string') return checkText(schema, value).flatMap(flaw);
  if (typeof value === 'number') return checkNumber(schema, value).flatMap(flaw);
  if (Array.isArray(value)) return checkList(schema, value, path);
  const members = asObject(value);
  return members === undefined ? [] : checkMembers(schema, members, path);
}

const TYPES: Readonly<Record<TypeName, { readonly is: (value: Json) => boolean; readonly said: string }>> = {
  string: { is: (value) => typeof value === 'string', said: 'text (in quotes, where it looks like something else)' },
  integer: { is: (value) => Number.isInteger(value), said: 'a whole number' },
  number: { is: (value) => typeof value === 'number' || value instanceof JsonNumber, said: 'a number' },
  boolean: { is: (value) => typeof value === 'boolean', said: 'true or false' },
  array: { is: (value) => Array.isArray(value), said: 'a list' },
  object: { is: (value) => asObject(value) !== undefined, said: 'an object' },
};

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(', ')}`;

/** `true` without quotes is no text: the API takes the text. */
function checkEnum(value: Json, flaw: (message: string) => readonly Flaw[]): readonly Flaw[] {
  return typeof value === 'string' ? [] : flaw('must be text: put it in quotes');
}

function checkText(schema: Schema, text: string): readonly string[] {
  const { minLength = 0, maxLength = Infinity, pattern, examples: [example] = [] } = schema;
  const length = [...text].length;
  if (length === 0 && minLength === 1) return ['must not be empty'];
  if (length < minLength) return [`must have at least ${minLength} characters`];
  if (length > maxLength) return [`must have at most ${maxLength} characters`];
  if (pattern === undefined || new RegExp(pattern, 'u').test(text)) return [];
  return [
    `has characters or a form that is not allowed here${example === undefined ? '' : `; an example: ${example}`}`,
  ];
}

function checkNumber({ minimum = -Infinity, maximum = Infinity }: Schema, number: number): readonly string[] {
  if (number < minimum) return [`must be at least ${minimum}`];
  return number > maximum ? [`must be at most ${maximum}`] : [];
}

function checkList(schema: Schema, list: readonly Json[], path: MemberPath): readonly Flaw[] {
  const { items = {}, minItems = 0, maxItems = Infinity, uniqueItems = false } = schema;
  if (list.length < minItems) return [{ path, message: `must have at least ${minItems} items` }];
  if (list.length > maxItems) return [{ path, message: `must have at most ${maxItems} items` }];
  if (uniqueItems && new Set(list).size < list.length) return [{ path, message: 'must not have an item twice' }];
  return list.flatMap((item, at) => checkSchema(items, item, [...path, at]));
}

function checkMembers(schema: Schema, object: { readonly [name: string]: Json }, path: MemberPath): readonly Flaw[] {
  const {
    properties = {},
    required = [],
    propertyNames,
    additionalProperties = true,
    maxProperties = Infinity,
  } = schema;
  const names = memberNames(object);
  const missing = required.filter((name) => !names.includes(name));
  const flaws: Flaw[] = missing.map((name) => ({ path, message: `${name} must be given` }));
  if (names.length > maxProperties) flaws.push({ path, message: `must have at most ${maxProperties} members` });
  for (const name of names) {
    const value = object[name] ?? null;
    const own = [...path, name];
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known !== undefined) flaws.push(...checkSchema(known, value, own));
    else if (additionalProperties === false)
      flaws.push({ path: own, message: unknownMember(name, Object.keys(properties)) });
    else {
      if (propertyNames !== undefined) {
        const wrong = checkText(propertyNames, name)[0];
        if (wrong !== undefined) flaws.push({ path: own, message: `its name ${wrong}` });
      }
      if (additionalProperties !== true) flaws.push(...checkSchema(additionalProperties, value, own));
    }
  }
  return flaws;
}

function unknownMember(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? 'is not a known member' : `is not a known member; did you mean ${near}?`;
}
