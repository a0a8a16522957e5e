import type { Call } from '../../contract/call.ts';
import type { Json } from '../../contract/json.ts';
import type { BodyOf, Operation, OperationId, ParamsOf, QueryOf } from '../../contract/operations.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonArray, isJsonObject, MemberMap, memberNames } from '../json/kind.ts';
import { integerOf } from '../json/number-digits.ts';
import { loadedOnce } from '../loaded-once.ts';
import { didYouMean } from '../nearest-name.ts';
import { invalid, type MemberErrors, Problem } from '../problem.ts';
import { VALIDATORS, type Validator } from '../validators.generated.js';
import { memberErrors } from './member-errors.ts';

export type BodyValidators = typeof import('../body-validators.generated.js').BODY_VALIDATORS;

/** A validated request. Every part matches its schema. */
export interface Request<Id extends OperationId> {
  readonly params: ParamsOf<Id>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
}

/**
 * Performs step 5 of the request path: checks path parameters, query and body against the operation's schemas, and
 * reports all errors at once in `invalid_request`. An operation with a body needs `bodies`.
 */
export function validate<Id extends OperationId>(
  id: Id,
  row: Operation,
  call: Call,
  body: Json | undefined,
  bodies: BodyValidators | undefined,
): Request<Id> {
  if (call.paramFault !== undefined) throw invalid(call.paramFault, 'is not validly percent-encoded');
  if (call.queryFault !== undefined) throw invalid(call.queryFault, 'is not validly percent-encoded');
  const validators = VALIDATORS[id];
  const params: Json = Object.assign(new MemberMap(), call.params);
  const query = readQuery(row.query, call.query);
  // `null` means "remove" in a merge patch (RFC 7396) and "absent" elsewhere (decisions §1).
  const keepsNulls = row.mediaType === 'application/merge-patch+json';
  const sentBody = row.body && body !== undefined && !keepsNulls ? readBySchema(row.body, body) : body;
  const errors = [
    check(validators.params, row.params, params),
    check(validators.query, row.query, query),
    row.bodyOptional && sentBody === undefined ? undefined : check(bodies?.[id], row.body, sentBody),
  ];
  if (errors.some((found) => found !== undefined)) {
    // Without a prototype `__proto__` is a plain member.
    throw new Problem('invalid_request', { errors: Object.assign(Object.create(null), ...errors) });
  }
  // The cast is safe: the validators are compiled from the schemas of these types.
  return { params, query, body: sentBody } as Request<Id>;
}

/**
 * Checks a part of a body as if it were the whole body of another operation, and returns it without null members.
 * Throws `invalid_request`.
 */
export function validateBody<Id extends OperationId>(id: Id, schema: Schema, part: Json, bodies: BodyValidators) {
  const body = readBySchema(schema, part);
  const errors = check(bodies[id], schema, body);
  if (errors !== undefined) throw new Problem('invalid_request', { errors });
  return body as BodyOf<Id>;
}

/** Loads the body validators on first use. They are most of the compiled code, and a read needs none. */
export const loadBodyValidators = loadedOnce(
  async () => (await import('../body-validators.generated.js')).BODY_VALIDATORS,
);

function check(validator: Validator | undefined, schema: Schema | undefined, value: unknown): MemberErrors | undefined {
  if (!validator || !schema || validator(value)) return undefined;
  return memberErrors(schema, validator.errors ?? [], value);
}

/**
 * Returns a body without its optional members that are `null`, which means "absent" in a body (decisions §1), and with
 * its integers as numbers, however they are written: `1.0` is 1. Affects only members that the schema names; others
 * (`data`, `mask`, the values of a map) stay.
 */
function readBySchema(schema: Schema, value: Json): Json {
  if (schema.type === 'integer') return integerOf(value) ?? value;
  if (isJsonArray(value)) {
    const items = schema.items;
    return items?.properties ? value.map((item) => readBySchema(items, item)) : value;
  }
  const properties = schema.properties;
  if (!properties || !isJsonObject(value)) return value;
  const kept = new MemberMap();
  for (const name of memberNames(value)) {
    const member = value[name] as Json;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (member === null && known && !schema.required?.includes(name)) continue;
    kept[name] = known ? readBySchema(known, member) : member;
  }
  return kept;
}

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
function readQuery(schema: Schema | undefined, pairs: readonly (readonly [string, string])[]): Json {
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
