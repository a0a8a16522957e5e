import type { AccessRule } from '../../contract/access-rule.ts';
import type { Transform } from '../../contract/permissions.ts';
import type { Caller, Context } from '../handler.ts';
import { Problem } from '../problem.ts';
import { openPresented } from '../tokens/token-codec.ts';
import type { ApplicationDefinition } from './check-application.ts';
import { governingTransform } from './governing-transform.ts';
import { type Grants, showsMore } from './grants.ts';

/**
 * Rejects with 403 when a new application would reach more tokens than its creator, or get a stronger transform
 * (decisions §6). `Grants.within` also limits each call to the creator's current grants; this check rejects early what
 * would never work.
 */
export async function checkDelegationLimits(
  wanted: Omit<ApplicationDefinition, 'type'>,
  caller: Caller,
  context: Context,
) {
  const { grants } = caller;
  if (wanted.permissions.includes('token:read') && !reachesWhole(grants, '/', 'mask')) {
    throw exceedsCreator('permissions');
  }
  for (const [index, rule] of wanted.rules.entries()) {
    if (!(await reachesRule(rule, caller, context))) throw exceedsCreator(`rules.${index}`);
  }
}

function exceedsCreator(path: string): Problem {
  return new Problem('no_governing_rule', {
    detail: `${path} would grant more than the creating application may read.`,
  });
}

async function reachesRule(
  { conditions = [], transform }: AccessRule,
  caller: Caller,
  context: Context,
): Promise<boolean> {
  const { grants, tenant } = caller;
  if (reachesWhole(grants, '/', transform)) return true;
  for (const { attribute, operator, value } of conditions) {
    if (attribute === 'container') {
      if (reachesWhole(grants, value, transform)) return true;
      continue;
    }
    if (operator !== 'equals') continue;
    const record = await context.store.findPresentedToken(tenant.record.id, value, context.clock.cutoff());
    if (!record) continue;
    const { containers } = openPresented(tenant.keyring, value, record).details;
    const own = governingTransform(grants, 'token:read', { id: value, containers });
    if (own && !showsMore(transform, own)) return true;
  }
  return false;
}

/**
 * Returns whether the caller reads all tokens in and below `path` with at least `transform`. A rule on `path` or above
 * it must grant that, and no earlier rule for a container above, at or below `path` may have a weaker transform. For a
 * token in several containers, `Grants.within` limits each call.
 */
function reachesWhole(grants: Grants, path: string, transform: Transform): boolean {
  for (const rule of grants.rules) {
    if (!rule.permissions.includes('token:read')) continue;
    const { container = '/' } = rule;
    const isAbove = path.startsWith(container);
    if (showsMore(transform, rule.transform) && (isAbove || container.startsWith(path))) return false;
    if (isAbove && !showsMore(transform, rule.transform)) return true;
  }
  return grants.plain.has('token:read') && !showsMore(transform, 'mask');
}
