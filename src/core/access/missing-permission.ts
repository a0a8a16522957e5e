import type { Permission } from '../../contract/permissions.ts';
import { Problem } from '../problem.ts';
import { type Grants, holds } from './grants.ts';

/** Returns `permission_missing` if the grants do not contain the permission. Without a permission, returns undefined. */
export function missingPermission(grants: Grants, permission: Permission | undefined): Problem | undefined {
  if (permission === undefined || holds(grants, permission)) return undefined;
  const detail = `The application does not hold the permission ${permission}.`;
  return new Problem('permission_missing', { detail });
}
