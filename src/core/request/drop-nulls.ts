import type { Json } from '../../contract/json.ts';
import type { Schema } from '../../contract/schema.ts';
import { isJsonArray, isJsonObject } from '../json/kind.ts';
import { MemberMap } from '../json/member-map.ts';
import { memberNames } from '../json/member-names.ts';

/**
 * Leaves out optional members that are written as `null`: in a body that means "absent" (decisions §1). Only members that
 * the schema names are looked at; what it does not describe (`data`, `mask`, the values of a map) stays as it was sent.
 */
export function dropNulls(schema: Schema, value: Json): Json {
  if (isJsonArray(value)) {
    const items = schema.items;
    return items?.properties ? value.map((item) => dropNulls(items, item)) : value;
  }
  const properties = schema.properties;
  if (!properties || !isJsonObject(value)) return value;
  const kept = new MemberMap();
  for (const name of memberNames(value)) {
    const member = value[name] as Json;
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (member === null && known && !schema.required?.includes(name)) continue;
    kept[name] = known ? dropNulls(known, member) : member;
  }
  return kept;
}
