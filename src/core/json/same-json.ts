import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from './kind.ts';
import { memberNames, objectOfMembers } from './member-names.ts';
import { stringifyJson } from './stringify.ts';

/** Returns whether two values are equal. The order of members does not matter; numbers are compared by their lexeme. */
export function isSameJson(a: Json, b: Json): boolean {
  return stringifyJson(sorted(a)) === stringifyJson(sorted(b));
}

/** Returns a value whose objects have their members in alphabetical order, at every depth. */
export function sorted(value: Json): Json {
  if (isJsonArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return objectOfMembers(new Map([...memberNames(value)].sort().map((name) => [name, sorted(value[name] ?? null)])));
}
