import type { Json, JsonObject } from '../../contract/json.ts';
import { isJsonObject, memberNames, objectOfMembers } from '../json/kind.ts';

/**
 * Returns a copy of the target with a JSON merge patch applied (RFC 7396 §2). Existing members keep their position, and
 * new members are appended. Reads own members only, so `__proto__` and `constructor` are ordinary names.
 */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const members = isJsonObject(target) ? membersOf(target) : new Map<string, Json>();
  for (const [name, value] of membersOf(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, applyMergePatch(members.get(name), value));
  }
  return objectOfMembers(members);
}

function membersOf(object: JsonObject): Map<string, Json> {
  return new Map(memberNames(object).map((name) => [name, object[name] as Json]));
}
