import type { ScalarTag } from 'yaml';
import type { Json } from '../../contract/json.ts';
import { JsonNumber } from '../../core/json/kind.ts';
import { memberNames } from '../../core/json/member-names.ts';
import { asObject, type Rendered } from './result-view.ts';

/** The YAML tag that prints a number that a double would change with its exact digits, as a plain scalar. */
const LEXEME: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => value instanceof JsonNumber,
  resolve: (text) => new JsonNumber(text),
  stringify: ({ value }) => (value instanceof JsonNumber ? value.lexeme : String(value)),
};

/** The YAML tag that quotes strings that a YAML 1.1 reader would take for other values, beyond those of `compat`. */
const LOOK_ALIKE: ScalarTag = {
  tag: 'tag:yaml.org,2002:value',
  default: true,
  test: /^(?:<<|=|[ynYN]|[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?|[-+]?[\d.][\d_.]*[eE][-+]?\d+)$/,
  resolve: (text) => text,
};

/**
 * Resolves to a result as YAML 1.2. Keeps the order of members and the digits of numbers. Quotes strings that YAML
 * readers, including those of YAML 1.1, would take for other values: times, yes and no, 0123, 1:20.
 */
export async function renderYaml(body: Json): Promise<Rendered> {
  const { stringify } = (await import('yaml')).default;
  const text = stringify(withOrder(body), {
    customTags: (tags) => [LEXEME, LOOK_ALIKE, ...tags],
    compat: 'yaml-1.1',
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
  return { text };
}

type Ordered = null | boolean | number | string | JsonNumber | readonly Ordered[] | ReadonlyMap<string, Ordered>;

/** Returns a value with its objects as maps, because integer-like members of an object would come first. */
function withOrder(value: Json): Ordered {
  if (Array.isArray(value)) return value.map(withOrder);
  const object = asObject(value);
  if (object === undefined)
    return value as Exclude<Json, readonly Json[] | { readonly [name: string]: Json }> as Ordered;
  return new Map(memberNames(object).map((name) => [name, withOrder(object[name] ?? null)]));
}
