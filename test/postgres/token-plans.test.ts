import { beforeAll, describe, expect, it } from 'vitest';
import { HEAD_ROW } from '../../src/store/postgres/audit-head.ts';
import type { Connections } from '../../src/store/postgres/connections.ts';
import { DIALECT } from '../../src/store/postgres/dialect.ts';
import { stepRunnerOn } from '../../src/store/postgres/perform.ts';
import { inSchema } from '../../src/store/postgres/schema.ts';
import type { NamedStatement } from '../../src/store/postgres/sql-client.ts';
import { TOKEN_READS, tokenReads } from '../../src/store/postgres/token-reads.ts';
import { TOKEN_CHANGES } from '../../src/store/postgres/token-statements.ts';
import { sharedMethods } from '../../src/store/rows/shared-store.ts';
import { blind, ENTRY, indexes, MONTH, NOW, tokenRecord, tombstoneOf } from '../conformance/store-fixtures.ts';
import { createTableDatabase, insertTenant, openClient } from './open-client.ts';
import { nodesIn, type PlanNode } from './plan-nodes.ts';
import { changeOf, UNUSED, workOf, writeOf } from './write-of.ts';

/** The columns that must all limit a scan of an index: with fewer, a scan may read a whole tenant. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  token_id: ['tenant', 'id'],
  token_pkey: ['token'],
  token_index_pkey: ['tenant', 'blind', 'set_number'],
  container_set_pkey: ['tenant'],
  container_set_number: ['tenant'],
  // Backwards, from the last row.
  audit_pkey: [],
  reply_pkey: ['reply'],
  token_count_pkey: ['tenant'],
  application_id: ['tenant', 'id'],
  application_key_hash_key: ['hash'],
  application_key_application: ['tenant', 'application_id'],
  tenant_pkey: ['tenant'],
  tenant_id_key: ['id'],
  application_key_id: ['tenant', 'id'],
  tenant_key_pkey: ['tenant'],
  reply_key: ['tenant', 'application_id', 'key_hash'],
};
const LARGE = 'token token_index container_set application application_key audit tenant tenant_key reply'.split(' ');

/** Returns what is wrong with a plan. */
function faultsOf(nodes: readonly PlanNode[]): readonly string[] {
  return nodes.flatMap((node) => {
    const table = node['Relation Name'] ?? '';
    if (node['Node Type'] === 'Seq Scan') return LARGE.includes(table) ? [`Seq Scan of ${table}`] : [];
    const index = node['Index Name'];
    if (index === undefined || !LARGE.includes(table || (index.split('_pkey')[0] ?? ''))) return [];
    const columns = KEYS[index];
    if (columns === undefined) return [`${index} is used`];
    const condition = node['Index Cond'] ?? '';
    return columns
      .filter((column) => !new RegExp(`\\(${column} = `).test(condition))
      .map((column) => `${index} without ${column}: ${condition}`);
  });
}

let url = '';
beforeAll(async () => {
  url = await createTableDatabase();
});

/** Resolves to the nodes of the plan that a named statement keeps when it is prepared on empty tables. */
async function planOf({ text }: NamedStatement): Promise<readonly PlanNode[]> {
  const client = await openClient(url);
  await client.run({ text: 'SET plan_cache_mode = force_generic_plan' });
  await client.run({ text: `PREPARE statement AS ${inSchema(text, 'vault')}` });
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
  const values = Array.from({ length: count }, () => 'NULL').join();
  const [[plans] = []] = await client.run({
    text: `EXPLAIN (FORMAT JSON) EXECUTE statement ${values && `(${values})`}`,
  });
  return nodesIn(plans);
}

/** Returns the named statements of the reads that all stores share. */
function sharedReads(): Readonly<Record<string, NamedStatement>> {
  const found: Record<string, NamedStatement> = {};
  const read: Connections['read'] = async (statement) => {
    if (typeof statement !== 'string') found[statement.name ?? ''] = statement;
    return [];
  };
  const store = sharedMethods({ dialect: DIALECT, ...stepRunnerOn({ ...UNUSED, read }) });
  const hash = new Uint8Array(32);
  const calls = [
    store.findTenant(''),
    store.findAuthority(hash, 0),
    store.findApplication('', '', 0),
    store.findApplicationKey('', ''),
    store.findApplicationKeys('', '', 0),
    store.findReply('', '', hash, 0),
  ];
  expect(Object.keys(found)).toHaveLength(calls.length);
  return found;
}

describe('a plan that is made on empty tables finds rows by their whole key', () => {
  const statements: Readonly<Record<string, NamedStatement>> = {
    ...TOKEN_READS,
    ...TOKEN_CHANGES,
    ...sharedReads(),
    appendAudit: HEAD_ROW.appendAudit,
  };
  it.each(Object.entries(statements))('%s', async (_, statement) => {
    expect(statement.name).toBeTypeOf('string');
    const nodes = await planOf(statement);
    expect(nodes).not.toEqual([]);
    expect(faultsOf(nodes)).toEqual([]);
  });

  it('finds the fault of a plan without a fence', async () => {
    const text =
      'SELECT * FROM vault.token WHERE tenant = $1::integer AND expires_at = $2::bigint AND deleted_at IS NULL';
    expect(faultsOf(await planOf({ text }))).not.toEqual([]);
  });
});

/**
 * PostgreSQL makes new plans for the first five runs of a named statement, then keeps one plan if it seems as cheap.
 */
const TIMES = 8;
const OPTIONS = { deduplicate: true, now: NOW };

it('keeps one plan for each named statement, whatever the length of its lists', async () => {
  const client = await openClient(url);
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
