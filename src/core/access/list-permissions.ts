import { PERMISSIONS, type Permission, type PermissionRow } from '../../contract/permissions.ts';
import type { Handler } from '../handler.ts';

/** Lists the permissions of the registry (search-and-batches.md §6). */
export const listPermissions: Handler<'listPermissions'> = async ({ query: { application_type } }) =>
  (Object.entries(PERMISSIONS) as [Permission, PermissionRow][])
    .filter(([, { types }]) => application_type === undefined || types.includes(application_type))
    .map(([type, { allows, types }]) => ({ type, description: allows, application_types: types }));
