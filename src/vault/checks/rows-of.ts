import type { InspectedRecords, InspectedRow } from '../../core/key-holder-ports.ts';
import type { Store } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';

/** Yields all rows of a tenant's table. Awaits `afterPage` after each read. */
export async function* rowsOf<Table extends keyof InspectedRecords>(
  store: Store,
  table: Table,
  tenantId: string,
  pageRows: number,
  afterPage: () => Promise<void> | void = () => undefined,
) {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const rows: readonly InspectedRow<InspectedRecords[Table]>[] = await store.inspectRows(
      table,
      tenantId,
      after,
      pageRows,
    );
    yield* rows;
    await afterPage();
    after = lastId(rows, after);
  }
}

/** Returns the last id of a page, after which the next one begins; undefined at the end. */
export function lastId(rows: readonly InspectedRow<unknown>[], after: string): string | undefined {
  const last = rows.at(-1)?.id;
  if (last === undefined) return undefined;
  // A corrupt index could return the same page forever.
  if (Buffer.compare(Buffer.from(last), Buffer.from(after)) <= 0) throw new Problem('integrity_failure');
  return last;
}
