import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { MemberMap } from '../json/member-names.ts';
import { didYouMean } from '../nearest-name.ts';
import { invalid } from '../problem.ts';

const INTEGER = /^-?\d{1,15}$/;

/**
 * Convert values of types other than string. A text that does not convert stays text and then fails validation under
 * its name.
 */
const READERS: Readonly<Record<string, (text: string) => Json | undefined>> = {
  integer: (text) => (INTEGER.test(text) ? Number(text) : undefined),
  boolean: (text) => ({ true: true, false: false })[text],
};

/**
 * Converts the query parameters to the object of the operation's query schema. A repeated parameter fills an array.
 * Parameters `m.<key>` or `m[<key>]` fill an object `m`: everything after the first dot is the key, and a repeated key
 * keeps its first value (§4.1). Integers and booleans are parsed. Throws `invalid_request`.
 */
export function readQuery(schema: Schema | undefined, pairs: readonly (readonly [string, string])[]): Json {
  const properties = schema?.properties ?? {};
  const query = new MemberMap();
  for (const [sent, value] of pairs) {
    const [member, key] = memberAndKey(sent);
    const name = typeOf(properties, member) === 'object' ? member : sent;
    const type = typeOf(properties, name);
    switch (type) {
      case undefined:
        throw invalid(sent, `is not a known query parameter${didYouMean(sent, Object.keys(properties))}`);
      case 'object': {
        if (!key) throw invalid(sent, `write it as ${name}.<key>=<value>`);
        query[name] ??= new MemberMap();
        const map = query[name] as Record<string, Json>;
        map[key] ??= value;
        break;
      }
      case 'array':
        query[name] ??= [];
        (query[name] as Json[]).push(value);
        break;
      default:
        if (name in query) throw invalid(name, 'must be given once');
        query[name] = READERS[type as string]?.(value) ?? value;
    }
  }
  return query;
}

/** Splits `metadata.<key>`, or the equivalent form `metadata[<key>]`, into member and key. */
function memberAndKey(sent: string): readonly [member: string, key: string | undefined] {
  const [, member = sent, inBrackets, afterDot] = /^([^.[]+)(?:\[(.*)\]|\.(.*))$/s.exec(sent) ?? [];
  return [member, inBrackets ?? afterDot];
}

function typeOf(properties: Readonly<Record<string, Schema>>, name: string): Schema['type'] | undefined {
  return Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
}
