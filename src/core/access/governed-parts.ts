import type { AccessRule } from '../../contract/access-rule.ts';
import type { Permission, Transform } from '../../contract/permissions.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { governingRule, governingTransform, type TokenFacts } from './governing-transform.ts';
import { type Grants, showsMore } from './grants.ts';
import { ruleVisibility } from './visibility.ts';

/** A part of a tenant's tokens: those that one rule governs, or those that no rule governs. */
export interface GovernedPart {
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
export function governedParts(grants: Grants, permission: Permission, keyring: TenantKeyring): readonly GovernedPart[] {
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
    const isExact = [...earlier, ...found.slice(index, index + 1)].every(({ exact }) => exact);
    const lists = earlier.flatMap((each) => each.lists);
    const isNone = earlier.some(({ lists: [list], exact }) => exact && list?.length === 0);
    // Conditions that find more than a rule matches must not be negated.
    const rest: readonly TokenCondition[] =
      isExact && lists.length > 0 ? [{ not: { some: lists.map((every) => ({ every })) } }] : [];
    return {
      rule,
      transform: rule?.transform ?? governingTransform({ plain, rules: [] }, permission, NO_TOKEN),
      all: isNone ? undefined : [...(found[index]?.lists.flat() ?? []), ...rest],
      isExact,
      has: (token) => governingRule({ rules }, permission, token) === rule,
    };
  });
}

/** A placeholder token: plain permissions do not depend on the token. */
const NO_TOKEN: TokenFacts = { id: '', containers: [] };
