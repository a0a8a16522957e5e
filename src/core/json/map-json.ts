import type { Json } from '../../contract/json.ts';
import { isJsonArray, isJsonObject } from './kind.ts';
import { keepMemberOrder, MemberMap, memberNames } from './member-names.ts';
import type { JsonText } from './stringify.ts';

/** Returns the replacement of a value; undefined to visit its items or members. `path` is dotted, empty at the top. */
type Visit = (value: Json, path: string) => Json | JsonText | undefined;

/** Returns a value with some parts replaced, in the order of its text. Keeps other parts. */
export function mapJson(value: Json, visit: Visit, path = ''): Json | JsonText {
  const replaced = visit(value, path);
  if (replaced !== undefined) return replaced;
  const below = (name: string | number) => (path === '' ? String(name) : `${path}.${name}`);
  // Replies print text in any place of a value.
  if (isJsonArray(value)) return value.map((item, index) => mapJson(item, visit, below(index)) as Json);
  if (!isJsonObject(value)) return value;
  const names = memberNames(value);
  const mapped = new MemberMap();
  for (const name of names) mapped[name] = mapJson(value[name] ?? null, visit, below(name)) as Json;
  keepMemberOrder(mapped, names);
  return mapped;
}
