import {
  type AccessRule,
  type ApplicationType,
  type Condition,
  PERMISSIONS,
  type Permission,
  type PermissionRow,
  type Transform,
} from '../../contract/permissions.ts';
import { Problem } from '../problem.ts';
import type { ApplicationDefinition } from './check-application.ts';

/** The permissions of an application: plain permissions, and rules in ascending priority. */
export interface Grants {
  /** The permissions that the application holds, directly or through any rule. Step 2 of each call needs one. */
  readonly held: ReadonlySet<Permission>;
  readonly plain: ReadonlySet<Permission>;
  readonly rules: readonly AccessRule[];
  /** The grants of the creator, which limit an expiring application (decisions §6). */
  readonly within?: Grants | undefined;
}

export function createGrants(application: Omit<ApplicationDefinition, 'type'>, within?: Grants): Grants {
  const own = [application, ...application.rules].flatMap(({ permissions }) => permissions);
  return {
    held: new Set(own.filter((permission) => within?.held.has(permission) !== false)),
    plain: new Set(application.permissions),
    rules: application.rules.toSorted((a, b) => a.priority - b.priority),
    within,
  };
}

const STRENGTH = { redact: 0, mask: 1, reveal: 2 } as const satisfies Record<Transform, number>;

export function showsMore(a: Transform, b: Transform): boolean {
  return STRENGTH[a] > STRENGTH[b];
}

/** The members of a token that rules compare. */
export interface TokenFacts {
  readonly id: string;
  readonly containers: readonly string[];
}

/**
 * Returns the transform of a token for a caller that needs `permission`; undefined without access (decisions §6). The
 * first rule in ascending priority that matches the token and grants the permission decides. Without such a rule, the
 * plain permission and its transform apply.
 */
export function governingTransform(
  grants: Omit<Grants, 'held'>,
  permission: Permission,
  token: TokenFacts,
): Transform | undefined {
  const own = governingRule(grants, permission, token)?.transform ?? plainTransform(grants, permission);
  if (own === undefined || !grants.within) return own;
  const outer = governingTransform(grants.within, permission, token);
  return outer !== undefined && showsMore(own, outer) ? outer : outer && own;
}

function plainTransform({ plain }: Pick<Grants, 'plain'>, permission: Permission): Transform | undefined {
  const { transform = 'mask' }: PermissionRow = PERMISSIONS[permission];
  return plain.has(permission) ? transform : undefined;
}

/** Returns the first rule in ascending priority that matches the token and grants the permission. */
export function governingRule({ rules }: Pick<Grants, 'rules'>, permission: Permission, token: TokenFacts) {
  return rules.find((each) => each.permissions.includes(permission) && matches(each, token));
}

/**
 * Returns whether a caller that may update a token may also set expressions, which read the token's stored data.
 * Callers with plain permissions may. Otherwise one of the rules that govern the caller's reads must have the transform
 * `reveal`; without such rules, the rule that governs its updates must have it (decisions §6).
 */
export function maySetExpressions(grants: Grants, token: TokenFacts): boolean {
  const rules = SHOWING.map((permission) => governingRule(grants, permission, token)).filter(Boolean);
  const governing = rules.length > 0 ? rules : [governingRule(grants, 'token:update', token)];
  return governing.some((rule) => rule === undefined || rule.transform === 'reveal');
}

/** The permissions for operations that show a token's data. */
const SHOWING = ['token:read', 'token:use'] as const;

/** Returns whether a move of a token would let the caller see more of the token than before (decisions §6). */
export function revealsMore(grants: Grants, before: TokenFacts, after: TokenFacts): boolean {
  return [...SHOWING, 'token:update' as const].some((permission) => {
    const [old, moved] = [before, after].map((token) => governingTransform(grants, permission, token));
    return moved !== undefined && (old === undefined || showsMore(moved, old));
  });
}

/**
 * Returns the result of `governingTransform` if it is the same for every token, because a rule on `/` or no rule
 * governs. Returns undefined when the result depends on the token, or without access.
 */
export function transformOfEveryToken(grants: Grants, permission: Permission): Transform | undefined {
  const rule = grants.rules.find((each) => each.permissions.includes(permission));
  const own = rule === undefined ? plainTransform(grants, permission) : rule.transform;
  if (own === undefined || (rule !== undefined && rule.container !== '/')) return undefined;
  if (!grants.within) return own;
  const outer = transformOfEveryToken(grants.within, permission);
  return outer !== undefined && showsMore(own, outer) ? outer : outer && own;
}

/** Returns whether the permission holds in every container of a token, as writing requires (decisions §6). */
export function reachesEveryContainer(grants: Grants, permission: Permission, token: TokenFacts): boolean {
  return token.containers.every(
    (container) => governingTransform(grants, permission, { id: token.id, containers: [container] }) !== undefined,
  );
}

export function matches(rule: Pick<AccessRule, 'container' | 'conditions'>, token: TokenFacts): boolean {
  const { container, conditions } = rule;
  // Both are normalized and end with a slash, so `/pci/` is not above `/pci-dev/`.
  if (container !== undefined) return token.containers.some((each) => each.startsWith(container));
  return conditions?.every((condition) => satisfies(condition, token)) ?? false;
}

const OPERATORS = {
  equals: (attribute, value) => attribute === value,
  starts_with: (attribute, value) => attribute.startsWith(value),
} as const satisfies Record<Condition['operator'], (attribute: string, value: string) => boolean>;

export function satisfies({ attribute, operator, value }: Condition, token: TokenFacts): boolean {
  const compare = OPERATORS[operator];
  return attribute === 'id' ? compare(token.id, value) : token.containers.some((each) => compare(each, value));
}

/**
 * Throws `permission_missing` if the caller lacks the permission. Its detail names a command if the type of the
 * application cannot hold it. Does nothing without a permission.
 */
export function requirePermission(
  {
    grants,
    application,
  }: { readonly grants: Grants; readonly application: { readonly record: { readonly type: ApplicationType } } },
  permission: Permission | undefined,
): void {
  if (permission === undefined || grants.held.has(permission)) return;
  const { types }: PermissionRow = PERMISSIONS[permission];
  const isOther = application.record.type === 'management' && !types.includes('management');
  const create = `vault apps create --name NAME --type private --permission ${permission}`;
  const hint = isOther ? ` Management applications cannot hold it; create a private one with \`${create}\`.` : '';
  throw new Problem('permission_missing', {
    detail: `The application does not hold the permission ${permission}.${hint}`,
  });
}
