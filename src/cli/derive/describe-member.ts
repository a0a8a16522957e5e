import type { Schema } from '../../contract/schema.ts';
import type { FlagKind } from './member-flags.ts';
import { typeOf } from './member-type.ts';
import { wordsOf } from './shorthand.ts';

/**
 * The help text of a flag: what the member is, how it is given, its limits, and an example where its form needs one. A
 * description that speaks of characters tells their limits itself.
 */
export function describeMember(schema: Schema, kind: FlagKind, required: boolean): string {
  const measured = schema.maxLength === undefined ? (schema.items ?? {}) : schema;
  const sentences = [describe(schema, kind), howToGive(schema, kind)];
  const facts = [
    ...(required ? ['required'] : []),
    ...choices(schema.items ?? schema),
    ...pairChoices(schema),
    ...range('', schema.minimum, schema.maximum),
    ...(schema.description?.includes(' characters')
      ? []
      : range(' characters', least(measured.minLength), measured.maxLength)),
    ...range(' values', schema.minItems, schema.maxItems),
    ...range(' pairs', undefined, schema.maxProperties),
    ...(schema.default === undefined ? [] : [`default: ${String(schema.default)}`]),
    ...example(schema),
  ];
  const text = sentences.filter((sentence) => sentence !== '').join(' ');
  return facts.length === 0 ? text : `${text} (${facts.join('; ')})`.trimStart();
}

/** To a flag that takes no JSON `null` is a text: what the API says of null, `--clear` does. */
function describe({ description = '' }: Schema, kind: FlagKind): string {
  return kind === 'json' ? description : description.replaceAll(/\bnull\b/g, '--clear');
}

function howToGive(schema: Schema, kind: FlagKind): string {
  if (kind === 'json') return 'JSON, @file, or - for standard input.';
  if (kind === 'shorthand') {
    return `Repeatable: JSON, @file, or the words ${wordsOf(schema.items ?? {})}.`;
  }
  return kind === 'pairs' || typeOf(schema) === 'array' ? 'Repeatable.' : '';
}

function choices(schema: Schema): readonly string[] {
  return schema.enum === undefined ? [] : [`one of ${schema.enum.join(', ')}`];
}

function pairChoices(schema: Schema): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, { enum: values }]) =>
    values === undefined ? [] : [`${name}=${values.join('|')}`],
  );
}

function example(schema: Schema): readonly string[] {
  const text = schema.examples?.[0] ?? schema.items?.examples?.[0];
  return typeof text !== 'string' || schema.description?.includes(text) ? [] : [`such as ${text}`];
}

/** That a text is not empty goes without saying. */
function least(minimum: number | undefined): number | undefined {
  return minimum !== undefined && minimum > 1 ? minimum : undefined;
}

function range(unit: string, minimum: number | undefined, maximum: number | undefined): readonly string[] {
  if (minimum !== undefined && maximum !== undefined) return [`${minimum} to ${maximum}${unit}`];
  if (maximum !== undefined) return [`at most ${maximum}${unit}`];
  return minimum === undefined ? [] : [`at least ${minimum}${unit}`];
}
