import type { Json, JsonArray, JsonObject } from '../../contract/json.ts';

/**
 * A JSON number in its written form (RFC 8259 §6), for numbers that a double would change: `1.10`, `-0`,
 * `9007199254740993`.
 */
export class JsonNumber {
  readonly lexeme: string;

  constructor(lexeme: string) {
    this.lexeme = lexeme;
  }
}

export function isJsonArray(value: Json | undefined): value is JsonArray {
  return Array.isArray(value);
}

/** Returns whether a value is a JSON object. A `JsonNumber` is not one. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

const MEMBER_ORDER = Symbol('member order');

interface Ordered {
  readonly [MEMBER_ORDER]?: readonly string[];
}

/**
 * Returns the names of an object's members in the order of the JSON text. JavaScript itself moves integer-like names to
 * the front.
 */
export function memberNames(object: { readonly [name: string]: unknown }): readonly string[] {
  return (object as Ordered)[MEMBER_ORDER] ?? Object.keys(object);
}

/**
 * Makes `memberNames` return `names`, which must be all of the object's members. The list is not enumerable, so a
 * spread copy, whose members may differ, does not inherit it.
 */
export function keepMemberOrder(object: JsonObject, names: readonly string[]): void {
  if (Object.keys(object).some((name, position) => name !== names[position])) {
    Object.defineProperty(object, MEMBER_ORDER, { value: names });
  }
}

/** Creates an object without inherited members, with these members in this order. */
export function objectOfMembers(members: ReadonlyMap<string, Json>): JsonObject {
  const object = new MemberMap();
  for (const [name, value] of members) object[name] = value;
  keepMemberOrder(object, [...members.keys()]);
  return object;
}

/**
 * The class of objects that are read from JSON. Their prototype is empty, so `__proto__` and `constructor` are plain
 * members. An object takes a third of the time to fill, read and print, compared with `Object.create(null)`, for which
 * V8 uses a hash table.
 */
export class MemberMap {
  [name: string]: Json;
}
Object.setPrototypeOf(MemberMap.prototype, null);
Reflect.deleteProperty(MemberMap.prototype, 'constructor');
Object.freeze(MemberMap.prototype);
