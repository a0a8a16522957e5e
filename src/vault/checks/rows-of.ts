import type { InspectedRecords } from '../../core/key-holder-ports.ts';
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
  let after = '';
  for (;;) {
    const rows = await store.inspectRows(table, tenantId, after, pageRows);
    yield* rows;
    await afterPage();
    const last = rows.at(-1);
    if (last === undefined) return;
    // A corrupt index could return the same page forever.
    if (Buffer.compare(Buffer.from(last.id), Buffer.from(after)) <= 0) throw new Problem('integrity_failure');
    after = last.id;
  }
}
