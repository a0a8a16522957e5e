import { describe, onTestFinished } from 'vitest';
import type { Run } from '../../src/store/postgres/connections.ts';
import { findTokensMethods } from '../../src/store/postgres/find-tokens.ts';
import { testHiddenTokens } from '../conformance/hidden-tokens.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { openTwoStores } from './open-twice.ts';
import { nodesIn, visitsOf } from './plan-nodes.ts';

/** Returns `run` that also counts what its statements visit. */
function counting(run: Run) {
  let visited = 0;
  const counted: Run = async (statement, values) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    const [[plans] = []] = await run(`EXPLAIN (ANALYZE, TIMING off, FORMAT JSON) ${text}`, values);
    for (const node of nodesIn(plans)) if (node['Relation Name'] !== undefined) visited += visitsOf(node);
    return run(statement, values);
  };
  return { counted, visits: () => visited };
}

describe('lists and searches of a caller with container rules, on PostgreSQL', () => {
  testHiddenTokens(async () => {
    const url = await createDatabase();
    const stores = await openTwoStores(url);
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
