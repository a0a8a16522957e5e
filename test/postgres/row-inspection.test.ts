import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIALECT } from '../../src/store/postgres/dialect.ts';
import { stepRunnerOn } from '../../src/store/postgres/perform.ts';
import { schemaStatements } from '../../src/store/postgres/schema.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import { inspectionMethods } from '../../src/store/rows/inspected-rows.ts';
import { openFilled } from './open-client.ts';
import { UNUSED } from './write-of.ts';

const TENANT = '00000000-0000-7000-8000-000000000001';
const BLIND = '00000000-0000-0000-0000-0000000000b1';

/** Live tokens, with a tombstone after every 10,500th. */
const FILL = [
  ...schemaStatements('vault'),
  `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
    VALUES ('${TENANT}', '${TENANT}', 1, 1, 1, 1, 2, '')`,
  `INSERT INTO vault.token (tenant, type, active_month, created_at, revision, key_id, index_key_id, id, blinds, clear,
      presented, revealed)
    SELECT 1, 1, 7, n, 1, 1, 2, lpad(n::text, 6, '0'), ARRAY['${BLIND}']::uuid[], 'c', 'p', 'r'
    FROM generate_series(1, 21000) n`,
  `INSERT INTO vault.token (tenant, type, active_month, created_at, deleted_at, revision, key_id, index_key_id, id, mac,
      created_by)
    SELECT 1, 1, 6, 1, 2, 1, 1, 2, lpad(n::text, 6, '0') || 'x', 'm', '${TENANT}' FROM generate_series(10500, 21000, 10500) n`,
  `INSERT INTO vault.application (tenant, id, type, key_version, created_at, revision, key_id, details)
    VALUES (1, '${TENANT}', 1, 0, 1, 1, 1, ''), (1, '${BLIND}', 9, 0, 1, 1, 1, '')`,
  `INSERT INTO vault.reply (tenant, application_id, key_hash, request_hash, created_at, key_id, sealed)
    VALUES (1, '${TENANT}', 'k', 'r', -1, 1, 's'), (1, '${TENANT}', 'l', 'r', 1, 1, 's'), (1, '${BLIND}', 'z', 'r', 1, 1, 's')`,
];

describe('the inspection of rows', () => {
  let client: SqlClient;
  const runner = stepRunnerOn({ ...UNUSED, inspectSnapshot: (query) => query((...args) => client.run(...args)) });
  const { inspectRows } = inspectionMethods({ dialect: DIALECT, ...runner });

  beforeAll(async () => {
    client = await openFilled(FILL);
  });
  afterAll(() => client.close());

  it('finds rare tombstones among tokens', async () => {
    const idsAfter = async (after: string, limit: number) =>
      (await inspectRows('tombstone', TENANT, after, limit)).map(({ id }) => id);
    expect(await idsAfter('', 10)).toEqual(['010500x', '021000x']);
    expect(await idsAfter('', 1)).toEqual(['010500x']);
    expect(await idsAfter('010500x', 1)).toEqual(['021000x']);
    expect(await idsAfter('021000x', 1)).toEqual([]);
  });

  it('reads every token once, in pages of any size', async () => {
    for (const limit of [499, 12_000, 30_000]) {
      const ids: string[] = [];
      for (let page: readonly string[] = ['']; page.length > 0; ids.push(...page)) {
        page = (await inspectRows('token', TENANT, ids.at(-1) ?? '', limit)).map(({ id }) => id);
      }
      expect(ids).toHaveLength(21_000);
      expect(new Set(ids).size).toBe(21_000);
    }
  });

  it('returns rows that hold no record', async () => {
    const applications = await inspectRows('application', TENANT, '', 10);
    expect(applications.map(({ id, record }) => [id, record?.type])).toEqual([
      [BLIND, undefined],
      [TENANT, 'private'],
    ]);
    const replies = await inspectRows('reply', TENANT, `${BLIND} ${Buffer.from('z').toString('hex')}`, 10);
    expect(replies.map(({ id, record }) => [id, record?.created_at])).toEqual([
      [`${TENANT} ${Buffer.from('k').toString('hex')}`, undefined],
      [`${TENANT} ${Buffer.from('l').toString('hex')}`, 1],
    ]);
    await client.run({ text: `UPDATE vault.token SET type = 99, blinds = ARRAY[NULL]::uuid[] WHERE id = '000002'` });
    expect((await inspectRows('token', TENANT, '000001', 1))[0]).toEqual({
      id: '000002',
      record: undefined,
      indexes: [],
    });
  });
});
