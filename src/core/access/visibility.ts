import type { AccessRule, Condition, Permission } from '../../contract/permissions.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import { indexed } from '../tokens/indexes.ts';
import type { Grants } from './grants.ts';

/**
 * The maximum number of pairs of an application's rule and its creator's rule. Every store accepts this many
 * alternatives in `TokenFilter.visible`.
 */
const MAX_PAIRS = 250;

type AllOf = readonly TokenCondition[];

/** The tokens on which a caller has a permission, as conditions for a store. */
export interface Visibility {
  /** At least one of the lists must hold completely; undefined means every token. */
  readonly lists: readonly AllOf[] | undefined;
  /**
   * Whether the lists find exactly these tokens. They find more tokens when a condition compares a part of a
   * container's segment (`/pc`), because blind indexes contain whole segments only, and when an application and its
   * creator have very many rules. The caller must then compare each token found with the rules.
   */
  readonly exact: boolean;
}

/**
 * Returns the tokens on which the grants give a permission, for the store's query: totals and page edges then count
 * only tokens that the caller may read.
 */
export function visibility(grants: Grants, permission: Permission, keyring: TenantKeyring): Visibility {
  const own = ownVisibility(grants, permission, keyring);
  if (!grants.within) return own;
  const outer = visibility(grants.within, permission, keyring);
  const pairs = (own.lists?.length ?? 1) * (outer.lists?.length ?? 1);
  // There are too many alternatives for a query. The application's own rules alone find more tokens than allowed.
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
  const found = rules.map((rule) => ruleVisibility(rule, keyring));
  const lists = found.map(({ every }) => every);
  return {
    lists: lists.some((list) => list.length === 0) ? undefined : lists,
    exact: found.every(({ exact }) => exact),
  };
}

/** Returns the conditions for the tokens that a rule matches; none when it matches every token. */
export function ruleVisibility({ container, conditions = [] }: AccessRule, keyring: TenantKeyring) {
  const every: AllOf =
    container === undefined
      ? conditions.flatMap((condition) => tokenCondition(condition, keyring))
      : belowContainer(container, keyring);
  return { every, exact: !conditions.some(comparesPartOfSegment) };
}

function tokenCondition({ attribute, operator, value }: Condition, keyring: TenantKeyring): AllOf {
  if (attribute === 'id') return [operator === 'equals' ? { id_in: [value] } : { id_prefix: value }];
  if (operator === 'equals') return [indexed(keyring, 'container', value)];
  return belowContainer(value.slice(0, value.lastIndexOf('/') + 1), keyring);
}

function comparesPartOfSegment({ attribute, operator, value }: Condition): boolean {
  return attribute === 'container' && operator === 'starts_with' && !value.endsWith('/');
}

/**
 * Returns the condition for a container and those below it. No condition is needed for `/` or the empty path: every
 * token has a container, and every container starts with `/`.
 */
function belowContainer(path: string, keyring: TenantKeyring): AllOf {
  return path === '/' || path === '' ? [] : [indexed(keyring, 'container_prefix', path)];
}
