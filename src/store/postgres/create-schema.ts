import { Fault } from '../../core/fault.ts';
import type { Run } from './connections.ts';
import { PgError } from './pg-error.ts';
import { inSchema, schemaStatements } from './schema.ts';
import type { SqlClient, Statement } from './sql-client.ts';
import type { StoreUrl } from './store-url.ts';

const SCHEMA_EXISTS: Statement = { text: 'SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1' };

/** The SQLSTATEs for a schema or a table that exists. 23505 occurs when two transactions create it at once. */
const EXISTS = ['42P06', '23505', '42P07'];
const NO_SUCH_ROLE = '42704';

/** The privileges of a role that serves the vault. Only the owner can change or remove audit entries. */
const GRANTS: readonly string[] = [
  'GRANT USAGE ON SCHEMA vault. TO role',
  'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA vault. TO role',
  'REVOKE UPDATE, DELETE ON vault.audit FROM role',
];

/**
 * Creates the tables and their first rows in a transaction. Uses an existing schema if it has none of the tables.
 * Rejects with the fault `conflict`.
 */
export async function createSchema({ run }: SqlClient, { schema, shown }: StoreUrl): Promise<void> {
  const exists = (await run(SCHEMA_EXISTS, [schema])).length > 0;
  const texts = schemaStatements(schema).slice(exists ? 1 : 0);
  try {
    // `Promise.all` rejects with the first error, which belongs to the statement that failed.
    await Promise.all(texts.map((text) => run({ text })));
  } catch (error) {
    if (!(error instanceof PgError) || !EXISTS.includes(error.code)) throw error;
    throw new Fault('conflict', `the schema ${schema} of ${shown} already has tables`, {
      hint: 'name another schema with ?schema=NAME',
      cause: error,
    });
  }
}

/** Grants a role the privileges that it needs to serve the vault. Rejects with the fault `not_found`. */
export async function grantAccess(run: Run, { schema, shown }: StoreUrl, role: string): Promise<void> {
  const name = `"${role.replaceAll('"', '""')}"`;
  try {
    for (const grant of GRANTS) {
      const text = inSchema(grant.replace('vault. ', `"${schema}" `), schema);
      await run({ text: text.replace(/role$/, () => name) });
    }
  } catch (error) {
    if (!(error instanceof PgError) || error.code !== NO_SUCH_ROLE) throw error;
    throw new Fault('not_found', `${shown} has no role ${role}`, { hint: 'create it with CREATE ROLE', cause: error });
  }
}
