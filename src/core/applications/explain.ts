import {
  type DraftApplication,
  MAX_REACH,
  type ReachPart,
  TOKEN_PERMISSIONS,
  type TokenPermission,
} from '../../contract/explanation.ts';
import type { BodyOf } from '../../contract/operations.ts';
import type { AccessRule, Permission, Transform } from '../../contract/permissions.ts';
import { checkApplication, normalizeRules } from '../access/check-application.ts';
import { explainAccess } from '../access/explain-access.ts';
import {
  createGrants,
  type Grants,
  governingRule,
  governingTransform,
  requirePermission,
  showsMore,
  type TokenFacts,
} from '../access/grants.ts';
import { ruleVisibility } from '../access/visibility.ts';
import { parentGrants } from '../authenticate.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import type { Instant, TenantKeyring, TokenCondition } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { runSteps } from '../steps.ts';
import { findPage } from '../tokens/find-page.ts';
import { openPresented } from '../tokens/token-codec.ts';
import { findApplication } from './read.ts';

/** The permissions whose holders may learn whether a token exists. */
const ADDRESSING: readonly TokenPermission[] = ['token:read', 'token:update', 'token:delete', 'token:use'];

const NOTHING = createGrants({ permissions: [], rules: [] });

/** Returns grants without the rules that do not grant a permission. They decide nothing about it. */
function only({ within, ...grants }: Grants, permission: Permission): Grants {
  const rules = grants.rules.filter(({ permissions }) => permissions.includes(permission));
  return { ...grants, rules, within: within && only(within, permission) };
}

/**
 * Explains the permissions that an application has on a token, and why (design of the console, §7). Without an
 * application, explains the caller's own access, for which it needs no permission. Returns none of the token's data, and
 * its containers only to callers that may see them.
 */
export const explainApplicationAccess: Handler<'explainAccess'> = async ({ body }, caller, context) => {
  const { token_id: id, application_id, application } = body;
  const isOwn = application_id === undefined && application === undefined;
  if (!isOwn) requirePermission(caller, 'application:read');
  else if (!ADDRESSING.some((permission) => caller.grants.held.has(permission))) {
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
    const held = isHidden ? only(grants, permission) : grants;
    const found = explainAccess(held, permission, token);
    // The outcome of each rule would reveal containers of a hidden token.
    const isAlike = isHidden && !found.allowed;
    const { creator, ...explained } = isAlike ? explainAccess(held, permission, { ...token, containers: [] }) : found;
    // A key does not learn the rules of its creator.
    return { ...explained, ...(!isOwn && creator && { creator }) };
  });
  return { token_id: id, containers: isHidden ? [] : containers, permissions };
};

/**
 * Resolves to the grants of an existing application, of a draft, or of an existing application with a draft's
 * permissions and rules. Rejects with `invalid_request`, `application_not_found`, or, for a draft from a caller without
 * `application:create`, `permission_missing`.
 */
async function askedGrants(asked: BodyOf<'measureReach'>, caller: Caller, context: Context): Promise<Grants> {
  const { application_id: id, application: draft } = asked;
  if (draft !== undefined && !caller.grants.held.has('application:create')) {
    throw new Problem('permission_missing', { detail: 'A draft needs application:create, too.' });
  }
  if (id === undefined) return createGrants(checked(draft?.type, draft ?? {}));
  if (draft?.type !== undefined)
    throw invalid('application.type', 'must be omitted, because the existing application has a type');
  const { record, details } = await findApplication(id, caller, context);
  const within = await parentGrants(context, record, caller.tenant.keyring, context.clock.cutoff());
  return createGrants(draft === undefined ? details : checked(record.type, { ...details, ...draft }), within);
}

function checked(type: DraftApplication['type'], { permissions = [], rules = [] }: DraftApplication) {
  if (type === undefined) throw invalid('application_id', 'is required, unless application.type is given');
  const normalized = { type, permissions, rules: normalizeRules(rules) };
  try {
    checkApplication(normalized);
  } catch (error) {
    if (!(error instanceof Problem) || error.errors === undefined) throw error;
    const errors = Object.entries(error.errors).map(([path, messages]) => [`application.${path}`, messages]);
    throw new Problem(error.code, { errors: Object.fromEntries(errors) });
  }
  return normalized;
}

/**
 * Counts the tokens that an application can read, by the rule that governs them (design of the console, §7). Opens
 * tokens only for rules that compare a part of a container's segment. Each count runs in its own tick of the event
 * loop.
 */
export const measureReach: Handler<'measureReach'> = async ({ body }, caller, context) => {
  const grants = await askedGrants(body, caller, context);
  const parts = governedParts(grants, 'token:read', caller.tenant.keyring);
  const now = context.clock.cutoff();
  const counted: ReachPart[] = [];
  for (const part of parts) {
    await caller.work.own();
    counted.push(present(part, await countTokens(part, now, caller, context)));
  }
  return { reach: merged(counted) };
};

/** Resolves to the number of tokens of a part, or to a number above `MAX_REACH` if there are more. */
async function countTokens(
  { all, isExact, has }: GovernedPart,
  now: Instant,
  caller: Caller,
  context: Context,
): Promise<number> {
  if (all === undefined) return 0;
  const { record, keyring } = caller.tenant;
  const sought = { filter: { tenant_id: record.id, all }, now, keyring, isExact, reaches: has, work: caller.work };
  const { total } = await runSteps(findPage(sought, { offset: 0, limit: 0 }, context, MAX_REACH));
  return total;
}

function present({ rule, transform }: GovernedPart, tokens: number): ReachPart {
  const source = rule !== undefined ? 'rule' : transform === undefined ? 'nothing' : 'permission';
  return { source, ...(rule && { priority: rule.priority }), ...(transform && { transform }), tokens, capped: false };
}

/**
 * Returns one row for each rule and transform, with the sum of its parts. Keeps one row for a rule that governs no
 * token.
 */
function merged(parts: readonly ReachPart[]): readonly ReachPart[] {
  const sums = new Map<string, ReachPart>();
  for (const part of parts) {
    const name = `${part.priority} ${part.transform}`;
    sums.set(name, { ...part, tokens: part.tokens + (sums.get(name)?.tokens ?? 0) });
  }
  const rows = [...sums.values()];
  return rows
    .filter((row, index) => {
      const others = rows.filter(({ priority }) => priority === row.priority);
      return row.tokens > 0 || (others.every(({ tokens }) => tokens === 0) && rows.indexOf(others[0] ?? row) === index);
    })
    .map((row) => ({ ...row, tokens: Math.min(row.tokens, MAX_REACH), capped: row.tokens > MAX_REACH }));
}

/** A part of a tenant's tokens: those that one rule governs, or those that no rule governs. */
interface GovernedPart {
  readonly rule: AccessRule | undefined;
  readonly transform: Transform | undefined;
  /** The store conditions for the tokens; undefined when earlier rules govern every token. */
  readonly all: readonly TokenCondition[] | undefined;
  /** Whether the conditions find exactly the tokens of this part. Otherwise `has` decides for each token found. */
  readonly isExact: boolean;
  readonly has: (token: TokenFacts) => boolean;
}

/**
 * Returns the parts of a tenant's tokens by the rule that governs a permission on them: one for each rule that grants
 * the permission, in ascending priority, then one for no rule. For an expiring application, divides each part again by
 * the rule that governs for its creator; the weaker transform applies.
 */
function governedParts(grants: Grants, permission: Permission, keyring: TenantKeyring): readonly GovernedPart[] {
  const own = ownParts(grants, permission, keyring);
  if (!grants.within) return own;
  const outer = governedParts(grants.within, permission, keyring);
  return own.flatMap((part) => outer.map((other) => bothOf(part, other)));
}

function bothOf(own: GovernedPart, outer: GovernedPart): GovernedPart {
  const isWeaker = own.transform && outer.transform && showsMore(own.transform, outer.transform);
  return {
    rule: own.rule,
    transform: isWeaker ? outer.transform : outer.transform && own.transform,
    all: own.all && outer.all && [...own.all, ...outer.all],
    isExact: own.isExact && outer.isExact,
    has: (token) => own.has(token) && outer.has(token),
  };
}

function ownParts({ plain, rules }: Grants, permission: Permission, keyring: TenantKeyring): readonly GovernedPart[] {
  const granting = rules.filter((rule) => rule.permissions.includes(permission));
  const found = granting.map((rule) => ruleVisibility(rule, keyring));
  return [...granting, undefined].map((rule, index) => {
    const earlier = found.slice(0, index);
    const isExact = found.slice(0, index + 1).every(({ exact }) => exact);
    const isNone = earlier.some(({ every, exact }) => exact && every.length === 0);
    // Conditions that find more than a rule matches must not be negated.
    const rest: readonly TokenCondition[] =
      isExact && earlier.length > 0 ? [{ not: { some: earlier.map(({ every }) => ({ every })) } }] : [];
    return {
      rule,
      transform: rule?.transform ?? governingTransform({ plain, rules: [] }, permission, NO_TOKEN),
      all: isNone ? undefined : [...(found[index]?.every ?? []), ...rest],
      isExact,
      has: (token) => governingRule({ rules }, permission, token) === rule,
    };
  });
}

/** A placeholder token: plain permissions do not depend on the token. */
const NO_TOKEN: TokenFacts = { id: '', containers: [] };
