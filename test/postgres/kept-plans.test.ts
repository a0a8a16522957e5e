import { expect, it } from 'vitest';
import { tokenReads } from '../../src/store/postgres/token-reads.ts';
import { blind, ENTRY, indexes, MONTH, NOW, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createTableDatabase, insertTenant, openClient } from './open-client.ts';
import { changeOf, workOf, writeOf } from './write-of.ts';

/**
 * PostgreSQL makes new plans for the first five runs of a named statement, then keeps one plan if it seems as cheap.
 */
const TIMES = 8;
const OPTIONS = { deduplicate: true, now: NOW };

it('keeps one plan for each named statement, whatever the length of its lists', async () => {
  const client = await openClient(await createTableDatabase());
  const { run } = client;
  const tenantId = await insertTenant(run);
  const reads = tokenReads({ read: run });

  for (let time = 0; time < TIMES; time += 1) {
    await run('BEGIN');
    const token = tokenRecord(tenantId);
    const next = { ...token, revision: 2 };
    const twin = tokenRecord(tenantId);
    const given = { ...indexes('x', 'y'), former: time % 2 === 0 ? [blind('z')] : [] };
    await workOf(
      await writeOf((writes) => writes.insertToken(token, given, { ...OPTIONS, deduplicate: false }, ENTRY)),
    )(run);
    await workOf(await writeOf((writes) => writes.insertToken(twin, given, OPTIONS, ENTRY)))(run);
    await workOf(
      await writeOf((writes) => writes.markActive(tenantId, [token.id, twin.id, 'x'].slice(time % 3), MONTH)),
    )(run);
    await changeOf((changes) => changes.resealTokens(tenantId, [{ before: token, after: token, indexes: given }]))(run);
    const expected = { revision: 1, now: NOW };
    await workOf(await writeOf((writes) => writes.replaceToken(next, given, expected, ENTRY)))(run);
    const list = Array.from({ length: 1 + time }, () => tokenRecord(tenantId));
    const writes = list.map((each) => ({ token: each, indexes: indexes(each.id), deduplicate: true }));
    await changeOf((changes) => changes.insertTokens(writes, NOW, ENTRY))(run);
    await Promise.all([
      reads.findToken(tenantId, token.id, NOW),
      reads.findPresentedToken(tenantId, token.id, NOW),
      reads.findDuplicate(tenantId, blind('fingerprint x'), token.id, NOW),
    ]);
    await workOf(await writeOf((writes) => writes.deleteToken(tombstoneOf(next), 2, ENTRY)))(run);
    await client.commit();
  }

  const kept = await run({ text: 'SELECT name FROM pg_prepared_statements WHERE generic_plans > 0 ORDER BY name' });
  const all = await run({ text: 'SELECT name FROM pg_prepared_statements ORDER BY name' });
  expect(kept).toEqual(all);
  expect(all.length).toBeGreaterThan(9);
});
