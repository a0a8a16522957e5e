import { Problem } from '../../../core/problem.ts';
import { type Connection, statements } from '../file/driver.ts';
import { sqliteCode, toProblem } from '../file/sqlite-error.ts';

/**
 * Returns a function that runs the removal of one row in an open transaction. If the row is damaged, the function
 * undoes the removal, adds `row` to `left` and returns undefined; the transaction goes on.
 */
export function leaveDamaged(connection: Connection) {
  const { rows } = statements(connection);
  const begin = rows<[]>('SAVEPOINT removal');
  const undo = rows<[]>('ROLLBACK TO removal');
  const end = rows<[]>('RELEASE removal');

  return <T>(left: Set<number | string>, row: number, remove: () => T): T | undefined => {
    begin().run();
    try {
      const removed = remove();
      end().run();
      return removed;
    } catch (error) {
      if (!isDamage(error) || !connection.inTransaction) throw error;
      undo().run();
      end().run();
      left.add(row);
      return undefined;
    }
  };
}

/** Returns whether an error means that a stored row is damaged, as a token whose tombstone exists already. */
function isDamage(error: unknown): boolean {
  const problem = toProblem(error);
  if (problem instanceof Problem) return problem.code === 'integrity_failure';
  return sqliteCode(error)?.startsWith('SQLITE_CONSTRAINT') === true;
}
