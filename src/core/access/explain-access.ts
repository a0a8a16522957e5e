import type { ExplainedGrant, ExplainedPermission, RuleOutcome, TokenPermission } from '../../contract/explanation.ts';
import type { AccessRule, Permission } from '../../contract/permissions.ts';
import {
  type Grants,
  governingRule,
  governingTransform,
  matches,
  reachesEveryContainer,
  satisfies,
  type TokenFacts,
} from './grants.ts';

/** A token to explain. The reasons name no container of a hidden one. */
interface ExplainedToken extends TokenFacts {
  readonly isHidden?: boolean;
}

/** The permissions that an application must hold in every container of the token (decisions §6). */
const IN_EVERY_CONTAINER: readonly Permission[] = ['token:create', 'token:update', 'token:delete'];

/**
 * Returns whether an application with these grants has a permission on a token, with which transform, and why.
 * `governingTransform` decides; the outcome of each rule is added. A pure function, which web pages also run.
 */
export function explainAccess(grants: Grants, permission: TokenPermission, token: ExplainedToken): ExplainedPermission {
  const transform = governingTransform(grants, permission, token);
  const missing =
    transform !== undefined && IN_EVERY_CONTAINER.includes(permission)
      ? token.containers.find((each) => !reachesEveryContainer(grants, permission, { ...token, containers: [each] }))
      : undefined;
  const isFound = permission !== 'token:search' || governingTransform(grants, 'token:read', token) !== undefined;
  const allowed = transform !== undefined && missing === undefined && isFound;
  const own = explainGrant(grants, permission, token);
  const creator = grants.within && explainGrant(grants.within, permission, token);
  return {
    permission,
    allowed,
    ...(allowed && { transform }),
    reason: reason(),
    own,
    ...(creator && { creator }),
  };

  function reason(): string {
    if (own.source === 'nothing') return `No rule and no plain permission grants ${permission} on this token.`;
    if (creator?.source === 'nothing') return `The creator of the application has no ${permission} on this token.`;
    if (missing !== undefined) {
      return `A change needs ${permission} in every container; no rule grants it in ${missing}.`;
    }
    if (!isFound) return 'A search finds only tokens that the application may read.';
    const because = becauseOf(grants, permission, token);
    if (creator === undefined || own.transform === transform) return because;
    return `${because} The creator of the application has only ${creator.transform}.`;
  }
}

function explainGrant(
  { plain, rules }: Pick<Grants, 'plain' | 'rules'>,
  permission: Permission,
  token: ExplainedToken,
): ExplainedGrant {
  // Leave out `within`, to explain only these grants.
  const alone = { plain, rules };
  const transform = governingTransform(alone, permission, token);
  const governing = governingRule(alone, permission, token);
  const source = governing !== undefined ? 'rule' : transform === undefined ? 'nothing' : 'permission';
  return {
    ...(transform !== undefined && { transform }),
    source,
    rules: rules.map((rule) => outcomeOf(rule, permission, token, governing)),
  };
}

function outcomeOf(
  rule: AccessRule,
  permission: Permission,
  token: ExplainedToken,
  governing: AccessRule | undefined,
): RuleOutcome {
  const { priority } = rule;
  if (governing !== undefined && priority > governing.priority) {
    return { priority, outcome: 'not_reached', reason: `rule ${governing.priority} already governs` };
  }
  if (!matches(rule, token)) return { priority, outcome: 'no_match', reason: mismatch(rule, token) };
  const match = `the rule matches ${matched(rule, token)}`;
  if (rule === governing) return { priority, outcome: 'governs', reason: `${match} and grants ${permission}` };
  return { priority, outcome: 'passed_over', reason: `${match} but does not grant ${permission}` };
}

/** Returns the token's container, or else its id, that the rule matches. */
function matched({ container }: AccessRule, token: ExplainedToken): string {
  if (container === undefined) return token.id;
  if (token.isHidden) return 'the token';
  return token.containers.find((each) => matches({ container }, { ...token, containers: [each] })) ?? '';
}

function mismatch({ container, conditions = [] }: AccessRule, token: ExplainedToken): string {
  const containers = token.isHidden ? 'the token' : token.containers.join(' and ');
  if (container !== undefined) return `${containers} is not in ${container}`;
  const failed = conditions.filter((condition) => !satisfies(condition, token));
  return failed
    .map(
      ({ attribute, operator, value }) =>
        `${attribute === 'id' ? token.id : containers} ${FAILURES[operator]} ${value}`,
    )
    .join('; ');
}

const FAILURES = { equals: 'is not', starts_with: 'does not start with' } as const;

function becauseOf({ rules }: Grants, permission: Permission, token: ExplainedToken): string {
  const rule = governingRule({ rules }, permission, token);
  if (rule === undefined) return `No rule governs; the application holds ${permission} as a plain permission.`;
  const name = rule.description === '' ? '' : ` (${rule.description})`;
  return `Rule ${rule.priority}${name} is the first that matches and grants ${permission}.`;
}
