import type { AccessRule, Condition } from '../../contract/access-rule.ts';
import type { Permission } from '../../contract/permissions.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { indexed } from '../tokens/indexes.ts';
import type { Grants } from './grants.ts';

/** A query holds the conditions of each pair; every store accepts this many alternatives (`TokenFilter.visible`). */
const MAX_PAIRS = 250;

type AllOf = readonly TokenCondition[];

/** The tokens on which a caller has a permission, as conditions for a store. */
export interface Visibility {
  /** At least one of the lists must hold completely; undefined means every token. */
  readonly lists: readonly AllOf[] | undefined;
  /**
   * Whether the lists find exactly those tokens. They find more when a condition compares with a part of a container's
   * segment (`/pc`), since blind indexes know whole segments only, and when an application and its creator have very
   * many rules. Then the matches must be compared with the rules.
   */
  readonly exact: boolean;
}

/** Adds visibility to the query, so that totals and page edges count only what the caller may read. */
export function visibility(grants: Grants, permission: Permission, keyring: TenantKeyring): Visibility {
  const own = ownVisibility(grants, permission, keyring);
  if (!grants.within) return own;
  const outer = visibility(grants.within, permission, keyring);
  const pairs = (own.lists?.length ?? 1) * (outer.lists?.length ?? 1);
  // Too many alternatives for a query: the caller's own grants alone find more.
  if (pairs > MAX_PAIRS) return { lists: own.lists, exact: false };
  return { lists: bothOf(own.lists, outer.lists), exact: own.exact && outer.exact };
}

function bothOf(a: Visibility['lists'], b: Visibility['lists']): Visibility['lists'] {
  if (!a || !b) return a ?? b;
  return a.flatMap((ofA) => b.map((ofB) => [...ofA, ...ofB]));
}

function ownVisibility(grants: Grants, permission: Permission, keyring: TenantKeyring): Visibility {
  if (grants.plain.has(permission)) return { lists: undefined, exact: true };
  const rules = grants.rules.filter((rule) => rule.permissions.includes(permission));
  const lists = rules.map((rule) => ruleConditions(rule, keyring));
  return {
    lists: lists.some((list) => list.length === 0) ? undefined : lists,
    exact: !rules.some((rule) => rule.conditions?.some(comparesPartOfSegment)),
  };
}

/** The tokens that a rule matches. The list is empty when it matches every token. */
export function ruleVisibility(
  rule: AccessRule,
  keyring: TenantKeyring,
): Visibility & { readonly lists: readonly AllOf[] } {
  return { lists: [ruleConditions(rule, keyring)], exact: !rule.conditions?.some(comparesPartOfSegment) };
}

/** Empty when the rule matches every token. */
function ruleConditions(rule: AccessRule, keyring: TenantKeyring): AllOf {
  if (rule.container !== undefined) return belowContainer(rule.container, keyring);
  return (rule.conditions ?? []).flatMap((condition) => tokenCondition(condition, keyring));
}

function tokenCondition({ attribute, operator, value }: Condition, keyring: TenantKeyring): AllOf {
  if (attribute === 'id') return [operator === 'equals' ? { id_in: [value] } : { id_prefix: value }];
  if (operator === 'equals') return [indexed(keyring, 'container', value)];
  return belowContainer(value.slice(0, value.lastIndexOf('/') + 1), keyring);
}

function comparesPartOfSegment({ attribute, operator, value }: Condition): boolean {
  return attribute === 'container' && operator === 'starts_with' && !value.endsWith('/');
}

/** Every token has a container, and every container starts with `/`. Other tokens match no rule. */
function belowContainer(path: string, keyring: TenantKeyring): AllOf {
  return path === '/' || path === '' ? [] : [indexed(keyring, 'container_prefix', path)];
}
