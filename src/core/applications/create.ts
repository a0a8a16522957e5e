import type { CreateApplication } from '../../contract/application.ts';
import type { AccessRule, Transform } from '../../contract/permissions.ts';
import { type ApplicationDefinition, checkApplication, normalizeRules } from '../access/check-application.ts';
import { type Grants, governingTransform, showsMore } from '../access/grants.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import type { Instant } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { latestEnd } from '../time.ts';
import { parseApplicationExpiry } from '../tokens/expires-at.ts';
import { openPresented } from '../tokens/token-codec.ts';
import { generateApiKey } from './api-key.ts';
import { makeApplicationKey, sealApplication, showApplication } from './application-codec.ts';

const DEFAULT_LIFE_MS = 60_000;

/** Create Application (§4.2). Only this reply contains the API key, because the vault stores only its keyed hash. */
export const createApplication: Handler<'createApplication'> = async ({ body }, caller, context) => {
  const { name, type, permissions = [], can_create_expiring_applications, create_key = true } = body;
  const rules = normalizeRules(body.rules ?? []);
  checkApplication({ type, permissions, rules, can_create_expiring_applications });
  if (type === 'expiring' && !create_key) throw invalid('create_key', 'must be true for an expiring application');
  const now = context.clock.now();
  const expires_at = expiryOf(body, caller.key.expires_at, now);
  await checkCreator({ type, permissions, rules }, caller, context);

  const { record: creator } = caller.application;
  // Draw the key before the ids: `vault seed apply --seed` predicts keys by this order.
  const text = generateApiKey(context.random);
  const application = sealApplication(
    caller.tenant.keyring,
    {
      id: context.random.id(),
      tenant_id: caller.tenant.record.id,
      type,
      parent_id: type === 'expiring' ? creator.id : undefined,
      parent_key_id: type === 'expiring' ? caller.key.id : undefined,
      key_version: 0,
      created_by: creator.id,
      created_at: now,
      expires_at,
      revision: 1,
    },
    { name, permissions, rules, can_create_expiring_applications },
  );
  const { id, revision } = application.record;
  const made = { created_by: creator.id, created_at: now };
  const newKey = create_key
    ? makeApplicationKey(context, caller.tenant.keyring, application.record, made, text)
    : undefined;
  const reply = showApplication(application, newKey?.key);
  const minting = { most: context.limits.expiring, now, latest: latestEnd(now) };
  const issued = newKey && { key: newKey.key, id: newKey.record.id, revision };
  const audit = caller.recorder.changedAuthority([id], revision, { names: [name], issued });
  const parts = { key: newKey?.record, minting: type === 'expiring' ? minting : undefined };
  await context.store.insertApplication(application.record, audit, parts);
  return reply;
};

/**
 * Returns the expiry of an expiring application, at most one day ahead; default: one minute ahead. It ends no later than
 * the key that creates it, which ends at `keyEnd`. Throws `invalid_request` for an `expires_at` of another type (§4.2).
 */
function expiryOf({ type, expires_at }: CreateApplication, keyEnd: Instant | undefined, now: Instant) {
  if (type !== 'expiring') {
    if (expires_at !== undefined) throw invalid('expires_at', 'is allowed only for expiring applications');
    return undefined;
  }
  const end = expires_at === undefined ? now + DEFAULT_LIFE_MS : parseApplicationExpiry(expires_at, now);
  return keyEnd === undefined ? end : Math.min(end, keyEnd);
}

/**
 * Rejects with 403 for a creator without `application:create` that asks for more than it may create. This creator is a
 * private application with `can_create_expiring_applications`. It creates only expiring applications, which reach no more
 * tokens than it, with no stronger transform (decisions §6). `Grants.within` also limits each call to the creator's
 * current grants; this check rejects early what would never work.
 */
async function checkCreator(wanted: ApplicationDefinition, caller: Caller, context: Context): Promise<void> {
  const { grants } = caller;
  if (grants.held.has('application:create')) return;
  if (wanted.type !== 'expiring') {
    throw new Problem('permission_missing', { detail: 'This application may create expiring applications only.' });
  }
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
