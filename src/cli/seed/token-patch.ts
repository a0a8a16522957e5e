import type { Json, JsonObject } from '../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../contract/token-types.ts';
import { memberNames, objectOfMembers } from '../../core/json/member-names.ts';
import { asObject } from '../output/result-view.ts';

/**
 * The merge patches (RFC 7396) that make of a token what a seed says, the type's defaults where it says nothing. Two,
 * because the mask that there is is not shown by a read, and has to go before another can come whole.
 */
export function tokenPatches(live: JsonObject, wanted: JsonObject): readonly JsonObject[] {
  const row: TokenTypeRow = TOKEN_TYPES[wanted['type'] as TokenType];
  const mask = wanted['mask'] ?? row.mask ?? null;
  const members: readonly (readonly [string, Json])[] = [
    ['data', patchTo(live['data'], wanted['data'] ?? null)],
    ['mask', mask],
    ['metadata', patchTo(live['metadata'], wanted['metadata'] ?? null)],
    ['containers', wanted['containers'] ?? null],
    ['search_indexes', wanted['search_indexes'] ?? row.search_indexes ?? null],
    ['fingerprint_expression', wanted['fingerprint_expression'] ?? null],
    ['expires_at', wanted['expires_at'] ?? null],
  ];
  const deduplicate = wanted['deduplicate_token'];
  const more = deduplicate === undefined ? [] : [['deduplicate_token', deduplicate] as const];
  const patch = objectOfMembers(new Map([...members, ...more]));
  return mask === null ? [patch] : [objectOfMembers(new Map([['mask', null]])), patch];
}

/** What turns one value into the other: members that are no longer there are taken away by null. */
function patchTo(live: Json | undefined, wanted: Json): Json {
  const [from, to] = [asObject(live ?? null), asObject(wanted)];
  if (from === undefined || to === undefined) return wanted;
  const gone = memberNames(from).filter((name) => !Object.hasOwn(to, name));
  return objectOfMembers(
    new Map<string, Json>([
      ...memberNames(to).map((name) => [name, patchTo(from[name], to[name] ?? null)] as const),
      ...gone.map((name) => [name, null] as const),
    ]),
  );
}
