import type { AccessRule, Condition } from '../../contract/access-rule.ts';
import type { Permission } from '../../contract/permissions.ts';
import type { TenantKeyring, TokenCondition } from '../ports.ts';
import type { Grants } from './grants.ts';

type AllOf = readonly TokenCondition[];

/**
 * The tokens on which a caller has `permission`, as a store can look for them: at least one of the lists must hold
 * completely; undefined means every token. Part of the query, so that totals and page edges count only what the caller may read.
 */
export function visibility(
  grants: Grants,
  permission: Permission,
  keyring: TenantKeyring,
): readonly AllOf[] | undefined {
  const own = ownVisibility(grants, permission, keyring);
  const outer = grants.within && visibility(grants.within, permission, keyring);
  if (!own || !outer) return own ?? outer;
  return own.flatMap((a) => outer.map((b) => [...a, ...b]));
}

function ownVisibility(grants: Grants, permission: Permission, keyring: TenantKeyring): readonly AllOf[] | undefined {
  if (grants.plain.has(permission)) return undefined;
  const lists = grants.rules
    .filter((rule) => rule.permissions.includes(permission))
    .map((rule) => ruleConditions(rule, keyring));
  return lists.some((list) => list.length === 0) ? undefined : lists;
}

/** Empty when the rule matches every token. */
function ruleConditions(rule: AccessRule, keyring: TenantKeyring): AllOf {
  if (rule.container !== undefined) return belowContainer(rule.container, keyring);
  return (rule.conditions ?? []).flatMap((condition) => tokenCondition(condition, keyring));
}

function tokenCondition({ attribute, operator, value }: Condition, keyring: TenantKeyring): AllOf {
  if (attribute === 'id') return [operator === 'equals' ? { id_in: [value] } : { id_prefix: value }];
  if (operator === 'equals') return [{ index_in: [keyring.blindIndex('container', value)] }];
  return belowContainer(value, keyring);
}

/** Every token has a container, and every container starts with `/`. */
function belowContainer(path: string, keyring: TenantKeyring): AllOf {
  return path === '/' ? [] : [{ index_in: [keyring.blindIndex('container_prefix', path)] }];
}
