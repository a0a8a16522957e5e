import { Fault } from '../../core/fault.ts';
import type { Run } from './connections.ts';
import { PgError } from './pg-error.ts';
import { firstValue } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

const NO_SUCH_ROLE = '42704';

/** Returns the grants of a role that serves the vault. Only the owner can change or remove audit entries. */
export const roleGrants = (schema: string, role: string) => [
  `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
  `REVOKE UPDATE, DELETE ON ${schema}.audit FROM ${role}`,
];

/**
 * Selects the command that sets the search_path of a role in this database. Selects none for a role that owns other
 * tables here, since it would no longer find them. Objects of users have ids from 16384.
 */
const PATH_COMMAND = `SELECT format('ALTER ROLE %I IN DATABASE %I SET search_path TO pg_catalog, pg_temp', rolname,
      current_database())
    FROM pg_roles r WHERE rolname = coalesce($1::text, current_user) AND NOT EXISTS (SELECT 1 FROM pg_class c
      JOIN pg_namespace n ON n.oid = relnamespace
      WHERE relowner = r.oid AND c.oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relpersistence <> 't'
        AND nspname <> $2)`;

/**
 * Grants a role the privileges that it needs to serve the vault, and sets the search_path of this role and of the
 * current one, for poolers that drop the options of a connection. Rejects with the fault `not_found`.
 */
export async function setUpRoles(run: Run, { schema, shown }: StoreUrl, role: string | undefined): Promise<void> {
  await setSearchPath(run, schema);
  if (role === undefined) return;
  const name = `"${role.replaceAll('"', '""')}"`;
  try {
    for (const grant of roleGrants(`"${schema}"`, name)) await run(grant);
  } catch (error) {
    if (!(error instanceof PgError) || error.code !== NO_SUCH_ROLE) throw error;
    throw new Fault('not_found', `${shown} has no role ${role}`, { hint: 'create it with CREATE ROLE', cause: error });
  }
  await setSearchPath(run, schema, role);
}

/** Sets the search_path if the current role may do it. A connection that lacks it is refused with the command. */
async function setSearchPath(run: Run, schema: string, role?: string): Promise<void> {
  const command = firstValue(await run(PATH_COMMAND, [role, schema]));
  if (typeof command !== 'string') return;
  await run('SAVEPOINT role');
  try {
    await run(command);
  } catch (error) {
    if (!(error instanceof PgError)) throw error;
    await run('ROLLBACK TO SAVEPOINT role');
  }
}
