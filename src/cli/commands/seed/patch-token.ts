import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../../contract/token-types.ts';
import { memberNames, objectOfMembers } from '../../../core/json/member-names.ts';
import { asObject } from '../../output/result-view.ts';

/**
 * Returns the merge patches (RFC 7396) that make a token match the seed, with the type's defaults. A change of hidden
 * members may take two patches: one patch would merge the new mask into the old one, so the first removes the old mask.
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

/** Returns the merge patch that turns `live` into `wanted`. */
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
