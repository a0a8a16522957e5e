import type { AuditDraft, AuthorityDraft } from '../../../core/audit/ports.ts';
import type { Row, SharedStatement, StoreSteps } from '../../rows/store-steps.ts';
import type { Connection } from '../file/driver.ts';

/** Returns a statement in the words of SQLite, with the signs that `loadDriver` explains. */
function toSqlite(sql: string): string {
  return sql
    .replaceAll('vault.', '')
    .replaceAll(' OFFSET 0', '')
    .replaceAll(/(=|LIMIT|OFFSET) \?/g, '$1 +?');
}

/** Returns the function that runs steps in the open transaction. `record` writes the entry of a change. */
export function performer(connection: Connection, record: (draft: AuditDraft | AuthorityDraft) => void) {
  const prepared = new Map<string, ReturnType<typeof prepare>>();

  function prepare(sql: string) {
    const statement = connection.prepare<unknown[], Row>(toSqlite(sql));
    return statement.reader ? statement.raw() : statement;
  }

  function run({ sql, params }: SharedStatement): readonly Row[] {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = prepare(sql);
      prepared.set(sql, statement);
    }
    if (statement.reader) return statement.all(...params);
    statement.run(...params);
    return [];
  }

  return function perform<T>(steps: StoreSteps<T>): T {
    let step = steps.next([]);
    while (!step.done) {
      const { value } = step;
      if ('entry' in value) record(value.entry);
      step = steps.next('entry' in value ? [] : value.map(run));
    }
    return step.value;
  };
}
