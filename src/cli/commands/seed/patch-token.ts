import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../../contract/token-types.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { asObject } from '../../output/result-view.ts';

/**
 * The merge patches (RFC 7396) that make of a token what a seed says, the type's defaults where it says nothing. Two, where
 * what no read shows is to change: the mask that there is has to go before another can come whole.
 */
export function tokenPatches(live: JsonObject, wanted: JsonObject, isHiddenSame: boolean): readonly JsonObject[] {
  const row: TokenTypeRow = TOKEN_TYPES[wanted['type'] as TokenType];
  const deduplicate = wanted['deduplicate_token'];
  const visible: JsonObject = {
    data: patchTo(live['data'], wanted['data'] ?? null),
    metadata: patchTo(live['metadata'], wanted['metadata'] ?? null),
    containers: wanted['containers'] ?? null,
    expires_at: wanted['expires_at'] ?? null,
    ...(deduplicate !== undefined && { deduplicate_token: deduplicate }),
  };
  if (isHiddenSame) return [visible];
  const mask = wanted['mask'] ?? row.mask ?? null;
  const patch = {
    ...visible,
    mask,
    search_indexes: wanted['search_indexes'] ?? row.search_indexes ?? null,
    fingerprint_expression: wanted['fingerprint_expression'] ?? null,
  };
  return mask === null ? [patch] : [{ mask: null }, patch];
}

/** What turns one value into the other: members that are no longer there are taken away by null. */
export function patchTo(live: Json | undefined, wanted: Json): Json {
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
