import type { Json } from '../../contract/json.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import type { UpdateToken } from '../../contract/token.ts';
import { type Grants, governingTransform, type TokenFacts } from '../access/grants.ts';
import { isJsonObject, memberNames, objectOfMembers } from '../json/kind.ts';
import { parseJson } from '../json/parse.ts';
import { isSameJson } from '../json/stringify.ts';
import { invalid } from '../problem.ts';
import { checkReadOnly } from '../request/check-read-only.ts';
import { unknownMember } from '../request/member-errors.ts';
import { showToken } from './present-token.ts';
import type { TokenContents, UnsealedToken } from './token-codec.ts';

/**
 * Compares the members of a patch with the token that the caller may have read, and returns the part of `data` that
 * differs; undefined when nothing does. A caller whose reads are masked sends back the masked form, which must not
 * replace the data. Throws `invalid_request` for a changed read-only member, and for a fingerprint from a caller that
 * may not read the token, whatever its value, because an error only for a wrong one would confirm guesses. Throws
 * `write_conflict` when the token changed since it was read.
 */
export function checkSentBack(
  body: UpdateToken,
  grants: Grants,
  unsealed: UnsealedToken,
  { masked, details }: TokenContents,
): Json | undefined {
  const token: TokenFacts = { id: unsealed.id, containers: details.containers };
  const transform = governingTransform(grants, 'token:read', token);
  if (transform === undefined && body.fingerprint !== undefined) {
    throw invalid('fingerprint', unknownMember('fingerprint', OPERATIONS.updateToken.body));
  }
  checkReadOnly('updateToken', body, showToken(unsealed, details, undefined));
  // Callers that read no masked form must not learn whether a value equals it.
  if (transform !== 'mask' || masked === undefined || body.data === undefined) return body.data;
  return changedPart(body.data, parseJson(masked));
}

/** Returns a merge patch without the members that equal the shown ones; undefined when all of it equals `shown`. */
function changedPart(sent: Json, shown: Json | undefined): Json | undefined {
  if (shown === undefined) return sent;
  if (!isJsonObject(sent) || !isJsonObject(shown)) return isSameJson(sent, shown) ? undefined : sent;
  const changed = new Map<string, Json>();
  const names = memberNames(sent);
  for (const name of names) {
    const part = changedPart(sent[name] as Json, Object.hasOwn(shown, name) ? shown[name] : undefined);
    if (part !== undefined) changed.set(name, part);
  }
  if (changed.size === 0 && (names.length > 0 || memberNames(shown).length === 0)) return undefined;
  return objectOfMembers(changed);
}
