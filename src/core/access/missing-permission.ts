import { PERMISSIONS, type Permission, type PermissionRow } from '../../contract/permissions.ts';
import type { Identity } from '../handler.ts';
import { Problem } from '../problem.ts';
import { holds } from './grants.ts';

/**
 * Returns `permission_missing` if the caller lacks the permission. Its detail names a command if the type of the
 * application cannot hold it. Without a permission, returns undefined.
 */
export function missingPermission(
  { grants, application }: Pick<Identity, 'grants' | 'application'>,
  permission: Permission | undefined,
): Problem | undefined {
  if (permission === undefined || holds(grants, permission)) return undefined;
  const { types }: PermissionRow = PERMISSIONS[permission];
  const isOther = application.record.type === 'management' && !types.includes('management');
  const create = `vault apps create --name NAME --type private --permission ${permission}`;
  const hint = isOther ? ` Management applications cannot hold it; create a private one with \`${create}\`.` : '';
  return new Problem('permission_missing', {
    detail: `The application does not hold the permission ${permission}.${hint}`,
  });
}
