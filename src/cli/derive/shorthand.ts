import type { Schema, TypeName } from '../../contract/schema.ts';
import { nearestName } from '../../core/nearest-name.ts';
import { wrongMember } from './wrong-member.ts';

/** A flag and its member, which errors name. */
type Named = Parameters<typeof wrongMember>[0];

/** Matches a word `name=value`. The value, or a part of it, may be in quotes. */
const WORD = /\s*(?<name>[^\s="']+)(?:=(?<value>(?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\s"'])*))?(?=\s|$)/y;
const QUOTED = /"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'/g;

/** Defaults for members that a rule in words may omit, although the schema requires them. */
const FILLED: Readonly<Record<string, (position: number) => string>> = {
  description: () => '""',
  priority: (position) => String(position),
};

/**
 * Returns the JSON text of one object in words, such as `container=/pci/ transform=mask
 * permissions=token:read,token:create`. The names of the words are the members of `schema`. The values of a list are
 * separated by commas or given by several words, whose name may be in the singular. An object in a list is written as
 * its required members with colons between them (`condition=container:starts_with:/pci/`). `position` is the object's
 * position among those of the flag, from 1. Throws the fault `invalid_request`, which names the word and the expected form.
 */
export function shorthandToJson(flag: Named, schema: Schema, text: string, position: number): string {
  const given = new Map<string, string[]>();
  for (const [word, value] of splitWords(flag, text, schema)) {
    const [member, property] = findMember(flag, schema, word);
    const before = given.get(member) ?? [];
    if (before.length > 0 && typeOf(property) !== 'array') throw wrongMember(flag, `: ${word}= is given twice`);
    given.set(member, [...before, ...valuesOf(flag, word, property, value)]);
  }
  const members = Object.entries(schema.properties ?? {}).flatMap(([member, property]) => {
    const values = given.get(member);
    const filled = schema.required?.includes(member) ? FILLED[member]?.(position) : undefined;
    if (values === undefined && filled === undefined && schema.required?.includes(member)) {
      throw wrongMember(flag, `: ${member}= is missing`, `such as ${exampleOf(member, property)}`);
    }
    const json = values === undefined ? filled : typeOf(property) === 'array' ? `[${values.join(',')}]` : values[0];
    return json === undefined ? [] : [`${JSON.stringify(member)}:${json}`];
  });
  return `{${members.join(',')}}`;
}

/** Returns an example of an object in words, with a word for each member. */
export function wordsOf(schema: Schema): string {
  return Object.entries(schema.properties ?? {})
    .map(([member, property]) => exampleOf(member, property))
    .join(' ');
}

function* splitWords(flag: Named, text: string, schema: Schema): Generator<readonly [word: string, value: string]> {
  const end = text.trimEnd().length;
  for (let at = 0; at < end; at = WORD.lastIndex) {
    WORD.lastIndex = at;
    const groups = WORD.exec(text)?.groups;
    if (groups === undefined) throw wrongMember(flag, ': a quote is not closed, or precedes a =');
    const { name = '', value } = groups;
    if (value === undefined) {
      throw wrongMember(flag, `: ${name} is not name=value`, `JSON, or the words ${wordsOf(schema)}`);
    }
    yield [name, value.replace(QUOTED, withoutQuotes)];
  }
}

function withoutQuotes(_all: string, double?: string, single?: string): string {
  return double?.replace(/\\([\s\S])/g, '$1') ?? single ?? '';
}

function findMember(flag: Named, schema: Schema, word: string): readonly [member: string, Schema] {
  const properties = schema.properties ?? {};
  for (const member of [word, `${word}s`]) {
    const property = Object.hasOwn(properties, member) ? properties[member] : undefined;
    if (property !== undefined && (member === word || typeOf(property) === 'array')) return [member, property];
  }
  const lists = Object.keys(properties).filter((name) => typeOf(properties[name] ?? {}) === 'array');
  const near = nearestName(word, [...Object.keys(properties), ...lists.map((name) => name.slice(0, -1))]);
  const hint = near === undefined ? `known are ${Object.keys(properties).join(', ')}` : `did you mean ${near}=?`;
  throw wrongMember(flag, `: unknown word ${word}=`, hint);
}

function valuesOf(flag: Named, word: string, schema: Schema, value: string): readonly string[] {
  if (typeOf(schema) !== 'array') return [jsonOf(flag, word, schema, value)];
  const items = schema.items ?? {};
  if (typeOf(items) === 'object') return [compoundOf(flag, word, items, value)];
  return value.split(',').map((one) => jsonOf(flag, word, items, one.trim()));
}

function jsonOf(flag: Named, word: string, schema: Schema, value: string): string {
  if (typeOf(schema) === 'integer') {
    if (/^\d{1,15}$/.test(value)) return String(Number(value));
    throw wrongMember(flag, `: ${word} must be a whole number`);
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    const near = nearestName(value, schema.enum);
    throw wrongMember(flag, `: ${word} must be one of ${schema.enum.join(', ')}`, near && `did you mean ${near}?`);
  }
  return JSON.stringify(value);
}

/** Returns the JSON text of an object in a list from `value`. The last member takes the rest, including colons. */
function compoundOf(flag: Named, word: string, schema: Schema, value: string): string {
  const names = schema.required ?? [];
  const parts = value.split(':');
  const last = names.length - 1;
  const values = [...parts.slice(0, last), parts.slice(last).join(':')];
  if (names.some((_name, at) => (values[at] ?? '') === '')) {
    throw wrongMember(flag, `: ${word} must be ${names.join(':')}`, `such as ${word}=${compoundExample(schema)}`);
  }
  const members = names.map((name, at) => {
    const json = jsonOf(flag, `the ${name} of ${word}`, schema.properties?.[name] ?? {}, values[at] ?? '');
    return `${JSON.stringify(name)}:${json}`;
  });
  return `{${members.join(',')}}`;
}

function exampleOf(member: string, schema: Schema): string {
  if (typeOf(schema) !== 'array') return `${member}=${valueExample(schema)}`;
  const items = schema.items ?? {};
  return typeOf(items) === 'object'
    ? `${member.slice(0, -1)}=${compoundExample(items)}`
    : `${member}=${(items.enum ?? []).slice(0, 2).join(',')}`;
}

function compoundExample(schema: Schema): string {
  return (schema.required ?? [])
    .map((name) => schema.properties?.[name]?.enum?.join('|') ?? name.toUpperCase())
    .join(':');
}

function valueExample(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.join('|');
  const example = schema.examples?.[0];
  return typeof example === 'string' ? example : typeOf(schema) === 'integer' ? String(schema.minimum ?? 1) : '"…"';
}

/** Returns the type of a member without the null that a merge patch allows. */
export function typeOf(schema: Schema): TypeName | undefined {
  return typeof schema.type === 'object' ? schema.type[0] : schema.type;
}

/** Returns whether a member may be null, because its schema names null or accepts any JSON. */
export function allowsNull(schema: Schema): boolean {
  return typeof schema.type === 'object' || (schema.type === undefined && schema.enum === undefined);
}
