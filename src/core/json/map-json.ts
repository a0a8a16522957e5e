import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from './kind.ts';
import { keepMemberOrder, MemberMap, memberNames } from './member-names.ts';
import type { JsonText } from './stringify.ts';

/**
 * Returns the replacement for a value, or undefined to visit the items or members of the value. `path` is dotted and
 * empty at the top.
 */
type Visit = (value: Json, path: string) => Json | JsonText | undefined;

/** Returns a copy of a value in which `visit` has replaced some parts. Keeps the order of members. */
export function mapJson(value: Json, visit: Visit, path = ''): Json | JsonText {
  const replaced = visit(value, path);
  if (replaced !== undefined) return replaced;
  const below = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`);
  // `JsonText` may replace any part of a value: replies print it unchanged. The casts hide this from the types.
  if (isJsonArray(value)) return value.map((item, index) => mapJson(item, visit, below(index)) as Json);
  if (!isJsonObject(value)) return value;
  const names = memberNames(value);
  const mapped = new MemberMap();
  for (const name of names) mapped[name] = mapJson(value[name] ?? null, visit, below(name)) as Json;
  keepMemberOrder(mapped, names);
  return mapped;
}
