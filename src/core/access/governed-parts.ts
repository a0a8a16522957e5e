import type { AccessRule } from '../../contract/access-rule.ts';
import type { Permission, Transform } from '../../contract/permissions.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { governingRule, governingTransform, type TokenFacts } from './governing-transform.ts';
import { type Grants, showsMore } from './grants.ts';
import { ruleVisibility } from './visibility.ts';

/** The tokens for which the same rule governs, or no rule. */
export interface GovernedPart {
  readonly rule: AccessRule | undefined;
  readonly transform: Transform | undefined;
  /** How a store looks for them; undefined when earlier rules govern every token. */
  readonly all: readonly TokenCondition[] | undefined;
  /** Whether the conditions find exactly those. Otherwise `has` decides. */
  readonly isExact: boolean;
  readonly has: (token: TokenFacts) => boolean;
}

/**
 * Divides the tokens of a tenant by what governs a permission on them: each rule that grants it, in ascending priority,
 * then no rule. A part of an expiring application is divided by what governs for its creator, with the weaker transform.
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

/** Stands for any token: plain permissions do not look at it. */
const NO_TOKEN: TokenFacts = { id: '', containers: [] };
