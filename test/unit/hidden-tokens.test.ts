import { describe } from 'vitest';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { containerSets } from '../../src/store/sqlite/tables/container-sets.ts';
import { tenantRows } from '../../src/store/sqlite/tables/tenant-rows.ts';
import { tokenLists } from '../../src/store/sqlite/tables/token-lists.ts';
import { testHiddenTokens } from '../conformance/hidden-tokens.ts';
import { openStore, rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

/**
 * Returns a connection that counts the rows that its statements visit. It puts `visit()` before each condition on a
 * tenant. The function has no columns, so SQLite calls it for each row of an index before it tests other conditions.
 */
function counting(connection: Connection) {
  let visited = 0;
  connection.function('visit', { deterministic: false }, () => {
    visited += 1;
    return 1;
  });
  const prepare = (sql: string) =>
    connection.prepare(sql.replaceAll(/WHERE (?=(\w\.)?tenant = \+)/g, 'WHERE visit() AND '));
  const counted = new Proxy(connection, {
    get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name)),
  });
  return { counted, visits: () => visited };
}

describe('lists and searches of a caller with container rules, on a file', () => {
  testHiddenTokens(async () => {
    const file = await temporaryVault();
    return {
      store: await openStore(file),
      async counted() {
        const { counted, visits } = counting(await rawConnection(file));
        const lists = tokenLists(counted, tenantRows(counted), containerSets(counted));
        return { lists, visits };
      },
    };
  });
});
