import type { AccessRule } from '../../contract/access-rule.ts';
import type { Permission, Transform } from '../../contract/permissions.ts';
import type { ApplicationDefinition } from './check-application.ts';

/** The permissions of an application: plain permissions, and rules in ascending priority. */
export interface Grants {
  readonly plain: ReadonlySet<Permission>;
  readonly rules: readonly AccessRule[];
  /** The grants of the creator, which limit an expiring application (decisions §6). */
  readonly within?: Grants | undefined;
}

export function createGrants(application: Omit<ApplicationDefinition, 'type'>, within?: Grants): Grants {
  return {
    plain: new Set(application.permissions),
    rules: application.rules.toSorted((a, b) => a.priority - b.priority),
    within,
  };
}

/** Returns whether grants contain a permission, directly or through any rule. This is step 2 of each call. */
export function holds(grants: Grants, permission: Permission): boolean {
  const own = grants.plain.has(permission) || grants.rules.some((rule) => rule.permissions.includes(permission));
  return own && (!grants.within || holds(grants.within, permission));
}

const STRENGTH = { redact: 0, mask: 1, reveal: 2 } as const satisfies Record<Transform, number>;

export function showsMore(a: Transform, b: Transform): boolean {
  return STRENGTH[a] > STRENGTH[b];
}
