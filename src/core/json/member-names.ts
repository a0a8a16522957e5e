import type { Json, JsonObject } from '../../contract/json.ts';

const MEMBER_ORDER = Symbol('member order');

interface Ordered {
  readonly [MEMBER_ORDER]?: readonly string[];
}

/** The names of an object's members in the order of its text, also where JavaScript moves integer-like names to the front. */
export function memberNames(object: { readonly [name: string]: unknown }): readonly string[] {
  return (object as Ordered)[MEMBER_ORDER] ?? Object.keys(object);
}

/**
 * Makes `memberNames` answer `names`, which are all of the object's members. The note is not enumerable: a copy made by
 * spreading has its own members and must not inherit a list of others.
 */
export function keepMemberOrder(object: JsonObject, names: readonly string[]): void {
  if (Object.keys(object).some((name, place) => name !== names[place])) {
    Object.defineProperty(object, MEMBER_ORDER, { value: names });
  }
}

/** An object that inherits nothing, with these members in this order, whatever their names. */
export function objectOfMembers(members: ReadonlyMap<string, Json>): JsonObject {
  const object = new MemberMap();
  for (const [name, value] of members) object[name] = value;
  keepMemberOrder(object, [...members.keys()]);
  return object;
}

/**
 * What an object of JSON is read into: it inherits nothing, so `__proto__` and `constructor` are members like any other.
 * V8 makes a hash table of what `Object.create(null)` gives; of this it makes an object like any other, which takes a third
 * of the time to fill, to look into and to print.
 */
export class MemberMap {
  [name: string]: Json;
}
Object.setPrototypeOf(MemberMap.prototype, null);
Reflect.deleteProperty(MemberMap.prototype, 'constructor');
Object.freeze(MemberMap.prototype);
