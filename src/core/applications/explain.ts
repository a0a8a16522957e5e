import { TOKEN_PERMISSIONS, type TokenPermission } from '../../contract/explanation.ts';
import type { Permission } from '../../contract/permissions.ts';
import { explainAccess } from '../access/explain-access.ts';
import { governingTransform } from '../access/governing-transform.ts';
import { createGrants, type Grants, holds } from '../access/grants.ts';
import { missingPermission } from '../access/missing-permission.ts';
import type { Handler } from '../handler.ts';
import { Problem, throwIf } from '../problem.ts';
import { openPresented } from '../tokens/token-codec.ts';
import { askedGrants } from './asked-grants.ts';

/** The permissions whose holders may learn whether a token exists. */
const ADDRESSING: readonly TokenPermission[] = ['token:read', 'token:update', 'token:delete', 'token:use'];

const NOTHING = createGrants({ permissions: [], rules: [] });

/** Returns grants without the rules that do not grant a permission. They decide nothing about it. */
function only({ plain, rules, within }: Grants, permission: Permission): Grants {
  const granting = rules.filter(({ permissions }) => permissions.includes(permission));
  return { plain, rules: granting, within: within && only(within, permission) };
}

/**
 * Explains the permissions that an application has on a token, and why (design of the console, §7). Without an
 * application, explains the caller's own access, for which it needs no permission. Returns none of the token's data, and
 * its containers only to callers that may see them.
 */
export const explainApplicationAccess: Handler<'explainAccess'> = async ({ body }, caller, context) => {
  const { token_id: id, application_id, application } = body;
  const isOwn = application_id === undefined && application === undefined;
  throwIf(isOwn ? undefined : missingPermission(caller, 'application:read'));
  if (isOwn && !ADDRESSING.some((permission) => holds(caller.grants, permission))) {
    const none = { id, containers: [] };
    caller.recorder.hidden(id);
    return { token_id: id, containers: [], permissions: ADDRESSING.map((each) => explainAccess(NOTHING, each, none)) };
  }
  const grants = isOwn ? caller.grants : await askedGrants(body, caller, context);
  const record = await context.store.findPresentedToken(caller.tenant.record.id, id, context.clock.cutoff());
  if (record === undefined) throw new Problem('token_not_found');
  const { containers } = openPresented(caller.tenant.keyring, id, record).details;
  const isHidden = isOwn && governingTransform(grants, 'token:read', { id, containers }) === undefined;
  const token = { id, containers, isHidden };
  if (isHidden) caller.recorder.hidden(id);
  else caller.recorder.shown([id], false);
  // The rules that do not grant a permission would reveal the containers of a hidden token.
  const asked = isHidden ? ADDRESSING : TOKEN_PERMISSIONS;
  const permissions = asked.map((permission) => {
    const { creator, ...explained } = explainAccess(isHidden ? only(grants, permission) : grants, permission, token);
    // A key does not learn the rules of its creator.
    return { ...explained, ...(!isOwn && creator && { creator }) };
  });
  return { token_id: id, containers: isHidden ? [] : containers, permissions };
};
