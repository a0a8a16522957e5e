import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_TOTAL } from '../../src/contract/page.ts';
import type { TokenCondition } from '../../src/core/ports.ts';
import { PLAN_BY_ORDER } from '../../src/store/postgres/connections.ts';
import { findTokensMethods } from '../../src/store/postgres/find-tokens.ts';
import { schemaStatements } from '../../src/store/postgres/schema.ts';
import type { SqlClient, Statement } from '../../src/store/postgres/sql-client.ts';
import { toBound } from '../../src/store/postgres/sql-client.ts';
import { planTokens, planWalk, readWeights, weigh } from '../../src/store/postgres/token-plan.ts';
import { PAGE_COLUMNS, SCANNED_COLUMNS } from '../../src/store/postgres/token-reads.ts';
import type { Fragment } from '../../src/store/rows/fragment.ts';
import type { Row } from '../../src/store/rows/store-steps.ts';
import type { TokenQuery } from '../../src/store/rows/token-query.ts';
import { openFilled } from './open-client.ts';
import { nodesIn, visitsOf } from './plan-nodes.ts';

const TENANT = '00000000-0000-7000-8000-000000000001';
/** The number of tokens in each of two tenants. */
const TOKENS = 20_000;
const NOW = 10 * TOKENS;
/** The number of container sets of a tenant, with 0. */
const SETS = 3;

/** Returns the blind index of the tokens whose number is a multiple of `every`. */
const blindOf = (every: number): Uint8Array => Buffer.from(every.toString(16).padStart(32, '0'), 'hex');
const MANY = blindOf(0xffff);

const blinds = [1, 2, 10, 1000]
  .map((every) => `CASE WHEN k % ${every} = 0 THEN '${Buffer.from(blindOf(every)).toString('hex')}'::uuid END`)
  .join();

/**
 * Fills both tenants in turn. Ten tokens of a tenant share a time. Every tenth token is a card, and every hundredth has
 * expired. One blind index has more entries than a total counts.
 */
const TEXTS = [
  ...schemaStatements('vault'),
  // Autovacuum would collect statistics while a slow test runs.
  ...['token', 'token_index', 'token_count'].map(
    (table) => `ALTER TABLE vault.${table} SET (autovacuum_enabled = off)`,
  ),
  `INSERT INTO vault.tenant (id, owner_id, created_at, revision, key_id, data_key_id, index_key_id, details)
    SELECT ('${TENANT.slice(0, -1)}' || n)::uuid, gen_random_uuid(), 1, 1, 1, 1, 2, ''
    FROM generate_series(1, 2) n`,
  `INSERT INTO vault.token (tenant, type, active_month, created_at, expires_at, revision, key_id, index_key_id, id,
      set_number, blinds, clear, presented, revealed)
    SELECT 1 + n % 2, CASE WHEN k % 10 = 0 THEN 2 ELSE 1 END, 1, k / 10, CASE WHEN k % 100 = 7 THEN k END, 1, 1, 2,
      'tok_' || md5(n::text), k % ${SETS}, array_remove(ARRAY[md5('f' || n)::uuid, ${blinds}], NULL),
      sha256(n::text::bytea), repeat(md5(n::text), 10)::bytea, repeat(md5(n::text), 10)::bytea
    FROM (SELECT n, n / 2 AS k FROM generate_series(0, ${2 * TOKENS - 1}) n) s`,
  `INSERT INTO vault.container_set SELECT tenant, gen_random_uuid(), number, 2, ARRAY[gen_random_uuid()]
    FROM vault.tenant, generate_series(1, ${SETS - 1}) number`,
  'INSERT INTO vault.token_index SELECT tenant, b, set_number, created_at, token FROM vault.token, unnest(blinds) b',
  `INSERT INTO vault.token_index SELECT 1, '${Buffer.from(MANY).toString('hex')}', 0, n, -n
    FROM generate_series(1, ${1.5 * MAX_TOTAL}) n`,
  `INSERT INTO vault.token_count SELECT tenant, type, 1, 1, 2, count(*), count(*), max(created_at)
    FROM vault.token GROUP BY 1, 2`,
];

interface Explained {
  /** The indexes of tokens that the statement reads; `Seq Scan` for a table without one. */
  readonly scans: readonly string[];
  /** The number of rows and entries that it reads there. */
  readonly read: number;
  readonly rows: readonly Row[];
}

interface Case {
  readonly name: string;
  readonly all: readonly TokenCondition[];
  readonly anyOf?: TokenQuery['anyOf'];
  /** The index from which the search starts. */
  readonly start: string;
  /** The maximum number of rows that a page reads. Default: a few for each row that it examines. */
  readonly read?: number;
  /** Absent when counting needs a walk. */
  readonly total?: number;
}

const ID = `tok_${'cfcd208495d565ef66e7dff9f98764da'}`;
const CASES: readonly Case[] = [
  { name: 'no condition', all: [], start: 'token_newest', total: TOKENS - 200 },
  { name: 'a type', all: [{ type_in: ['card'] }], start: 'token_newest', total: TOKENS / 10 },
  { name: 'a time', all: [{ created_in: { from: 5, to: 1900 } }], start: 'token_newest' },
  { name: 'a blind index', all: [{ index_in: [blindOf(1)] }], start: 'token_index_pkey', total: TOKENS - 200 },
  { name: 'a rare blind index', all: [{ index_in: [blindOf(1000)] }], start: 'token_index_pkey', total: 20 },
  {
    name: 'a blind index and a type',
    all: [{ index_in: [blindOf(2)] }, { type_in: ['card'] }],
    start: 'token_index_pkey',
  },
  {
    name: 'a frequent and a rare blind index',
    all: [{ index_in: [blindOf(1)] }, { index_in: [blindOf(1000)] }],
    start: 'token_index_pkey',
    total: 20,
  },
  {
    name: 'one of two rare blind indexes',
    all: [{ index_in: [blindOf(10), blindOf(1000)] }],
    start: 'token_index_pkey',
    read: 5000,
    total: TOKENS / 10,
  },
  { name: 'one of two frequent blind indexes', all: [{ index_in: [blindOf(1), blindOf(2)] }], start: 'token_newest' },
  { name: 'ids', all: [{ id_in: [ID, 'tok_none'] }], start: 'token_id', total: 1 },
  { name: 'a rare prefix', all: [{ id_prefix: ID.slice(0, 6) }], start: 'token_id', read: 500, total: 90 },
  { name: 'a frequent prefix', all: [{ id_prefix: 'tok_' }], start: 'token_newest' },
  {
    name: 'the visibility of an application',
    all: [],
    anyOf: [[{ index_in: [blindOf(1)] }, { type_in: ['card'] }], [{ id_prefix: 'tok_0' }]],
    start: 'token_newest',
  },
];

let client: SqlClient;
beforeAll(async () => {
  client = await openFilled(TEXTS);
}, 60_000);
afterAll(() => client.close());

describe.each(['no', 'fresh'])('the statements of a list, with %s statistics', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'fresh') await client.run({ text: 'ANALYZE' });
  }, 60_000);

  async function explain(fragment: Fragment, settings: Statement = PLAN_BY_ORDER): Promise<Explained> {
    const [text, values] = toBound(fragment);
    await client.run({ text: 'BEGIN' });
    await client.run(settings);
    const [[plans] = []] = await client.run({ text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}` }, values);
    const rows = await client.run({ text }, values);
    await client.commit();
    const scans = nodesIn(plans).filter(
      (node) =>
        node['Actual Loops'] !== 0 && /^token(?!_count)/.test(node['Index Name'] ?? node['Relation Name'] ?? ''),
    );
    return {
      scans: [...new Set(scans.map((node) => node['Index Name'] ?? node['Node Type']))].sort(),
      read: scans.reduce((sum, node) => sum + visitsOf(node), 0),
      rows,
    };
  }

  async function weightsOf(query: TokenQuery) {
    const { read, rows, scans } = await explain(weigh(TENANT, query, undefined));
    const [row = []] = rows;
    return { weights: readWeights(row), read, scans };
  }

  it.each(CASES)('by $name: start from $start', async ({ all, anyOf, start, read = 400, total }) => {
    const query = { all, ...(anyOf && { anyOf }) };
    const { weights, ...weighing } = await weightsOf(query);
    expect(weighing.scans.filter((scan) => !/^token_(id|newest|index_pkey)$/.test(scan))).toEqual([]);
    expect(weighing.read).toBeLessThanOrEqual(10_000);

    const slice = { limit: 100, skip: 0, take: 20 };
    const after = { created_at: TOKENS / 20, id: 'tok_8' };
    const pages = [undefined, after].map((each) =>
      planWalk(weights, query, { ...slice, after: each }, NOW, PAGE_COLUMNS),
    );
    const plan = planTokens(weights, query, { offset: 20, limit: 20 }, NOW);
    for (const page of [...pages, ...(plan.list === undefined ? [] : [plan.list])]) {
      const found = await explain(page);
      expect(found.scans.filter((scan) => scan !== 'token_pkey')).toEqual([start]);
      expect(found.read).toBeLessThanOrEqual(read);
    }
    const counted = plan.total === undefined ? undefined : await explain(plan.total);
    expect(counted?.rows[0]?.[0]).toBe(total);
    expect(counted?.scans ?? []).not.toContain('Seq Scan');
    const [[isRounded] = []] = await client.run({ text: "SELECT current_setting('server_version_num')::int < 180000" });
    // Before version 18, PostgreSQL rounds the rows of a loop, so a sum may be 1 too high.
    expect(counted?.read ?? 0).toBeLessThanOrEqual((total ?? 0) + read + (isRounded === true ? 1 : 0));
  });

  it('counts no more entries than the maximum total', async () => {
    const query = { all: [{ index_in: [MANY] }] };
    const { weights } = await weightsOf(query);
    const { total } = planTokens(weights, query, { offset: 0, limit: 20 }, NOW);
    if (total === undefined) throw new Error('unreachable');
    const { scans, read, rows } = await explain(total);
    expect(rows[0]?.[0]).toBeGreaterThan(MAX_TOTAL);
    expect(scans).toEqual(['token_expiry', 'token_index_pkey']);
    expect(read).toBeLessThanOrEqual(MAX_TOTAL + 500);
  });

  it('leaves distant pages to walks, but not those beyond the end', async () => {
    const { findTokens } = findTokensMethods({ readSnapshot: (query) => query(client.run) });
    const pageAt = (offset: number) => findTokens({ tenant_id: TENANT, all: [] }, { offset, limit: 10 }, NOW);
    const total = TOKENS - 200;
    expect((await pageAt(0)).records).toHaveLength(10);
    expect(await pageAt(TOKENS / 2)).toEqual({ records: undefined, total });
    expect(await pageAt(total)).toEqual({ records: [], total });
  });

  it('scans the newest tokens', async () => {
    const slice = { after: { created_at: 700, id: 'tok_4' }, limit: 200, skip: 0, take: 200 };
    const { weights } = await weightsOf({ all: [] });
    const { scans, read, rows } = await explain(planWalk(weights, { all: [] }, slice, NOW, SCANNED_COLUMNS));
    expect(scans).toEqual(['token_newest', 'token_pkey']);
    expect(rows).toHaveLength(200);
    expect(read).toBeLessThanOrEqual(500);
  });

  it('control: without the settings a page with statistics reads all tokens of the tenant', async () => {
    const { weights } = await weightsOf({ all: [] });
    const { list } = planTokens(weights, { all: [] }, { offset: 0, limit: 20 }, NOW);
    if (list === undefined) throw new Error('unreachable');
    const { read } = await explain(list, { text: 'SELECT 1' });
    expect(read > TOKENS / 2).toBe(statistics === 'fresh');
  });
});
