import { Fault } from '../../core/fault.ts';

/**
 * The schemas of names without a schema. Statements name the schema of the vault's tables. In any other schema, another
 * role could create a function or an operator that fits better than PostgreSQL's own, and runs with the rights of the
 * vault (CVE-2018-1058). Unless `pg_temp` is last, PostgreSQL looks for tables and types there first.
 */
const SEARCH_PATH = 'pg_catalog,pg_temp';

/** The option of the start-up message that sets the path. It needs no statement, and `DISCARD ALL` keeps it. */
export const PATH_OPTION = `-c search_path=${SEARCH_PATH}`;

/**
 * The columns that `requireSearchPath` reads. They name the schema of their functions, so the path cannot change them.
 */
export const PATH_COLUMNS = `pg_catalog.current_setting('search_path'), pg_catalog.format(
    'ALTER ROLE %I IN DATABASE %I SET search_path TO pg_catalog, pg_temp', session_user, pg_catalog.current_database())`;

/**
 * Matches the two schemas as a user may have written them. One name in quotes with a comma, `"pg_catalog,pg_temp"`, is
 * another schema.
 */
const SAME_PATH = /^\s*("?)pg_catalog\1\s*,\s*("?)pg_temp\2\s*$/;

/** Throws the fault `store_refused` for any other path than that of the vault. Its hint is the command. */
export function requireSearchPath([path, command]: readonly unknown[], shown: string): void {
  if (typeof path === 'string' && SAME_PATH.test(path)) return;
  throw new Fault('store_refused', `${shown} has another search_path, so functions of other roles could run`, {
    hint: `run \`${command}\`, then reconnect the pooler (PgBouncer: RECONNECT)`,
  });
}
