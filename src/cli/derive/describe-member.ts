import type { Schema } from '../../contract/schema.ts';
import type { FlagKind } from './member-flags.ts';

const HOW_TO_GIVE: Readonly<Record<FlagKind, string>> = {
  literal: '',
  number: '',
  boolean: '',
  json: 'JSON, @file, or - for standard input.',
  text: '',
  pairs: 'Repeatable.',
};

/** The help text of a flag: what the member is, how it is given, and its limits. */
export function describeMember(schema: Schema, kind: FlagKind, required: boolean): string {
  const sentences = [schema.description ?? '', HOW_TO_GIVE[kind], schema.type === 'array' ? 'Repeatable.' : ''];
  const facts = [
    ...(required ? ['required'] : []),
    ...choices(schema.items ?? schema),
    ...range('', schema.minimum, schema.maximum),
    ...range(' characters', undefined, schema.maxLength ?? schema.items?.maxLength),
    ...range(' values', undefined, schema.maxItems),
    ...range(' pairs', undefined, schema.maxProperties),
    ...(schema.default === undefined ? [] : [`default: ${String(schema.default)}`]),
  ];
  const text = sentences.filter((sentence) => sentence !== '').join(' ');
  return facts.length === 0 ? text : `${text} (${facts.join('; ')})`.trimStart();
}

function choices(schema: Schema): readonly string[] {
  return schema.enum === undefined ? [] : [`one of ${schema.enum.join(', ')}`];
}

function range(unit: string, minimum: number | undefined, maximum: number | undefined): readonly string[] {
  if (minimum !== undefined && maximum !== undefined) return [`${minimum} to ${maximum}${unit}`];
  if (maximum !== undefined) return [`at most ${maximum}${unit}`];
  return minimum === undefined ? [] : [`at least ${minimum}${unit}`];
}
