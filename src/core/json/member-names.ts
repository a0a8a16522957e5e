import type { Json, JsonObject } from '../../contract/json.ts';
import { MemberMap } from './member-map.ts';

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
