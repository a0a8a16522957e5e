import { MAX_KEY_VERSION } from '../../contract/application-key.ts';
import { LAST_DAY, MAX_ROW } from './stored-value.ts';

const DAY_MS = 86_400_000;

/** A check of one table. `sql` selects the ids of wrong rows; `what` describes the damage. */
export interface RowCheck {
  readonly table: string;
  readonly what: string;
  readonly sql: string;
}

/** Returns the checks of a table: each member describes a damage, and selects the ids of wrong rows. */
export function checksOf(table: string, queries: Readonly<Record<string, string>>): readonly RowCheck[] {
  return Object.entries(queries).map(([what, sql]) => ({ table, what, sql }));
}

/**
 * Returns the checks that all stores share. `schema` is the prefix of the tables, `owned` lists those with a tenant, and
 * `uuid` returns the expression that prints a column.
 */
export function recordChecks(
  schema: string,
  owned: readonly string[],
  uuid: (column: string) => string,
): readonly RowCheck[] {
  return [
    ...owned.flatMap((table) =>
      checksOf(table, {
        'belongs to a tenant that does not exist': `
          SELECT DISTINCT 'tenant ' || tenant FROM ${schema}${table}
          WHERE tenant NOT IN (SELECT tenant FROM ${schema}tenant)`,
      }),
    ),
    ...checksOf('audit', {
      'has a number that the vault never assigns': `
        SELECT CAST(sequence AS text) FROM ${schema}audit WHERE sequence NOT BETWEEN 0 AND ${MAX_ROW}`,
    }),
    ...checksOf('application', {
      'was created by an application that no longer exists': `
        SELECT ${uuid('a.id')} FROM ${schema}application a WHERE a.parent_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM ${schema}application p WHERE p.tenant = a.tenant AND p.id = a.parent_id)`,
      'was created with an API key that no longer exists': `
        SELECT ${uuid('a.id')} FROM ${schema}application a WHERE a.parent_id IS NOT NULL AND NOT EXISTS
        (SELECT 1 FROM ${schema}application_key k WHERE k.tenant = a.tenant AND k.id = a.parent_key_id)`,
      'has counted fewer API keys than it has had': `
        SELECT ${uuid('a.id')} FROM ${schema}application a WHERE a.key_version <
        (SELECT max(version) FROM ${schema}application_key k WHERE k.tenant = a.tenant AND k.application_id = a.id)`,
      'has an impossible number of API keys': `
        SELECT ${uuid('id')} FROM ${schema}application WHERE key_version NOT BETWEEN 0 AND ${MAX_KEY_VERSION - 1}`,
    }),
    ...checksOf('application_key', {
      'belongs to an application that does not exist': `
        SELECT ${uuid('k.id')} FROM ${schema}application_key k WHERE NOT EXISTS
        (SELECT 1 FROM ${schema}application a WHERE a.tenant = k.tenant AND a.id = k.application_id)`,
      'was last used before it was created': `
        SELECT ${uuid('id')} FROM ${schema}application_key
        WHERE last_used_day <> 0 AND last_used_day < created_at / ${DAY_MS}`,
      'was last used on an impossible day': `
        SELECT ${uuid('id')} FROM ${schema}application_key WHERE last_used_day NOT BETWEEN 0 AND ${LAST_DAY}`,
    }),
  ];
}
