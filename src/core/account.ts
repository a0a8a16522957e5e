import type { ApplicationRecord } from './ports.ts';

/**
 * Returns the account of an application. The limits of one caller apply to its account. An expiring application counts
 * with its creator, because a private application can create any number of expiring ones.
 */
export function accountOf({ id, type, parent_id, created_by }: ApplicationRecord): string {
  return type === 'expiring' ? (parent_id ?? created_by ?? id) : id;
}
