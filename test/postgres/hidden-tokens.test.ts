import { describe, onTestFinished } from 'vitest';
import type { Run } from '../../src/store/postgres/connections.ts';
import { findTokensMethods } from '../../src/store/postgres/find-tokens.ts';
import { testHiddenTokens } from '../conformance/hidden-tokens.ts';
import { HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwice } from './open-twice.ts';

interface Node {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Node[];
}

/** Returns the number of rows and index entries that the scans of a plan visited. */
function visitsOf(node: Node): number {
  const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0, 'Rows Removed by Filter': removed = 0 } = node;
  const { 'Rows Removed by Index Recheck': rechecked = 0 } = node;
  const own = node['Relation Name'] === undefined ? 0 : Math.round((rows + removed + rechecked) * loops);
  return (node.Plans ?? []).reduce((sum, child) => sum + visitsOf(child), own);
}

/** Returns `run` that also counts what its statements visit. */
function counting(run: Run) {
  let visited = 0;
  const counted: Run = async (statement, values) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    const [[plans] = []] = await run(`EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) ${text}`, values);
    const [plan] = plans as readonly { readonly Plan: Node }[];
    if (plan !== undefined) visited += visitsOf(plan.Plan);
    return run(statement, values);
  };
  return { counted, visits: () => visited };
}

describe('lists and searches of a caller with container rules, on PostgreSQL', () => {
  testHiddenTokens(async () => {
    const url = await createDatabase();
    const options = { insecure: true };
    const stores = await openTwice(`${url}?sslmode=disable`, HEADER, async () => undefined, options);
    const [store] = stores;
    onTestFinished(async () => void (await Promise.all(stores.map((each) => each.close()))));
    return {
      store,
      async counted() {
        const client = await openClient(url);
        await client.run({ text: 'ANALYZE' });
        const { counted, visits } = counting(client.run);
        return {
          visits,
          lists: findTokensMethods({
            async readSnapshot(query) {
              await client.run({ text: 'BEGIN' });
              const found = await query(counted);
              await client.commit();
              return found;
            },
          }),
        };
      },
    };
  });
});
