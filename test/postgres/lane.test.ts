import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { HEAD_ROW } from '../../src/store/postgres/audit-head.ts';
import type { Connections } from '../../src/store/postgres/connections.ts';
import { runGroup } from '../../src/store/postgres/lane-transaction.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import { Undo } from '../../src/store/rows/undo.ts';
import { entry } from '../conformance/store-fixtures.ts';
import { auditTexts, createTestStore, memberOf, openTestClient, openTestLane } from './lane-fixture.ts';

let url: StoreUrl;
let client: SqlClient;
beforeEach(async () => {
  url = await createTestStore();
  client = await openTestClient(url);
});

const ADD = { text: 'INSERT INTO vault.purge (tenant, since) VALUES ($1, 0)' };
const FAIL = { text: "SELECT 'x'::uuid" };

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);
const texts = (rows: readonly number[]): readonly string[] => rows.map((row) => `row ${row}`);
const written = (): Promise<readonly string[]> => auditTexts(client.run, texts(numbers(0, 999)));
const rows = async () => (await client.run({ text: 'SELECT tenant FROM vault.purge ORDER BY tenant' })).flat();

/** Resolves to the result of each, or to the message of its error. */
const results = (all: readonly Promise<unknown>[]): Promise<readonly unknown[]> =>
  Promise.all(all.map((each) => each.catch((error: Error) => error.message)));

/** Returns a change that adds a row, with its entry. */
const changeOf = (row: number) => (lane: Pick<Connections, 'change'>) =>
  lane.change(async ({ run, record }) => {
    await run(ADD, [row]);
    await record(entry(`row ${row}`));
    return 'changed';
  });

describe('members', () => {
  it('share a transaction in their order, at most 64 of them', async () => {
    const lane = openTestLane(url);
    const all = numbers(1, 100);
    expect(new Set(await results(all.map((row) => lane.join(memberOf(row)))))).toEqual(new Set(['made']));
    expect(await written()).toEqual(texts(all));
    const groups = 'SELECT count(*) FROM vault.audit WHERE sequence > 0 GROUP BY xmin::text ORDER BY min(sequence)';
    expect(await client.run({ text: groups })).toEqual([[64], [36]]);
  });

  it('are sent from BEGIN to COMMIT before the first answer', async () => {
    const sent: string[] = [];
    const send = (text: string) => new Promise<never>(() => void sent.push(text));
    const run: SqlClient['run'] = (statement) => send(typeof statement === 'string' ? statement : statement.text);
    void runGroup({ ...client, run, commit: () => send('COMMIT') }, [memberOf(1), memberOf(2)]);
    await setImmediate();
    expect(sent[0]).toMatch(/^BEGIN/);
    expect(sent.at(-1)).toBe('COMMIT');
  });

  it('change nothing when they are refused, which costs the others nothing', async () => {
    const lane = openTestLane(url);
    await lane.join(memberOf(5));
    const made = await results([1, 2, 5, 3, 5, 4].map((row) => lane.join(memberOf(row))));
    expect(made).toEqual(['made', 'made', 'refused', 'made', 'refused', 'made']);
    expect(await written()).toEqual(texts([5, 1, 2, 3, 4]));
    const groups = 'SELECT count(*) FROM vault.audit WHERE sequence > 1 GROUP BY xmin::text';
    expect(await client.run({ text: groups })).toEqual([[4]]);
  });

  it('are rejected when the audit lacks the row that their writer knew', async () => {
    const lane = openTestLane(url);
    await lane.join(memberOf(1));
    const [[link] = []] = await client.run({ text: 'SELECT link FROM vault.audit WHERE sequence = 1' });
    const known = { sequence: 1, link: link as Uint8Array };
    await client.run({ text: 'DELETE FROM vault.audit WHERE sequence = 1' });
    const audit = { ...entry('row 2'), witness: known };
    const made = await results([memberOf(2, { audit }), memberOf(3)].map((member) => lane.join(member)));
    expect(made).toEqual(Array(2).fill(expect.stringMatching(/^write_conflict/)));
    expect(await results([lane.join(memberOf(2))])).toEqual(['made']);
    expect(await written()).toEqual(texts([2]));
  });

  it('succeed when a statement of another member fails, or its answer cannot be read', async () => {
    const lane = openTestLane(url);
    const read = () => {
      throw new Error('refused');
    };
    const made = await results([
      lane.join(memberOf(1)),
      lane.join(memberOf(2, { statements: () => [[FAIL, []]] })),
      lane.join(memberOf(3, { statements: () => [], read })),
      lane.join(memberOf(4)),
    ]);
    expect(made).toEqual(['made', expect.stringMatching(/^internal_error/), 'refused', 'made']);
    expect(await written()).toEqual(texts([1, 4]));
  });

  it('append to one audit from two lanes', async () => {
    const lanes = [openTestLane(url), openTestLane(url)];
    const all = numbers(1, 300);
    const made = await results(
      all.map((row) => (lanes[row % 2] ?? lanes[0])?.join(memberOf(row)) ?? Promise.resolve()),
    );
    expect(new Set(made)).toEqual(new Set(['made']));
    expect((await written()).toSorted()).toEqual(texts(all).toSorted());
  });
});

describe('a change', () => {
  it('runs alone, between members', async () => {
    const lane = openTestLane(url);
    const made = [lane.join(memberOf(1)), changeOf(2)(lane), lane.join(memberOf(3)), changeOf(4)(lane)];
    expect(await results(made)).toEqual(['made', 'changed', 'made', 'changed']);
    expect(await written()).toEqual(texts([1, 2, 3, 4]));
  });

  it('leaves nothing when it throws or is undone', async () => {
    const lane = openTestLane(url);
    const failing = (error: () => unknown) =>
      lane.change(async ({ run, append }) => {
        await run(ADD, [1]);
        await append(entry('row 1'), entry('row 2'));
        throw error();
      });
    await expect(failing(() => new Error('no'))).rejects.toThrow('no');
    expect(await failing(() => new Undo('undone'))).toBe('undone');
    const statement = lane.change(({ run }) => Promise.all([run(ADD, [1]), run(FAIL), run(ADD, [2])]));
    await expect(statement).rejects.toMatchObject({ code: 'internal_error' });
    expect(await rows()).toEqual([]);
    expect(await changeOf(3)(lane)).toBe('changed');
    expect(await written()).toEqual(texts([3]));
  });

  it('runs again after a temporary failure, until its deadline', async () => {
    const lane = openTestLane(url, { deadlineMs: 300 });
    const deadlock = { text: "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$" };
    let tries = 0;
    const failing = (until: number) =>
      lane.change(async ({ run, record }) => {
        tries += 1;
        await run(ADD, [7]);
        await record(entry('row 7'));
        if (tries < until) await run(deadlock);
        return tries;
      });
    expect(await failing(4)).toBe(4);
    await expect(failing(1000)).rejects.toMatchObject({ code: 'internal_error' });
    await client.run({ text: 'DELETE FROM vault.purge' });
    await expect(failing(1000)).rejects.toMatchObject({ code: 'vault_busy', retryAfter: 1 });
    expect(tries).toBeLessThan(1000);
    expect(await written()).toEqual(texts([7]));
  });

  it('lets other writes pass when its process stops, and has more time when it runs again', async () => {
    const [stopped, other] = [openTestLane(url), openTestLane(url)];
    const begun = Promise.withResolvers<void>();
    let runs = 0;
    const change = stopped.change(async ({ run, record }) => {
      runs += 1;
      begun.resolve();
      await sleep(1_000);
      await run(ADD, [1]);
      await record(entry('row 1'));
    });
    await begun.promise;
    const started = performance.now();
    await other.join(memberOf(2));
    expect(performance.now() - started).toBeLessThan(900);
    await change;
    expect(runs).toBe(2);
    expect(await written()).toEqual(texts([2, 1]));
  });
});

describe('the lane', () => {
  it('connects again after its connection was lost', async () => {
    const lane = openTestLane(url);
    await lane.join(memberOf(1));
    const end =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    await client.run({ text: end });
    expect(await lane.join(memberOf(2))).toBe('made');
    await client.run({ text: end });
    expect(await changeOf(3)(lane)).toBe('changed');
    let isCut = false;
    const cut = lane.change(async ({ run, record }) => {
      await run(ADD, [4]);
      if (!isCut) await client.run({ text: end });
      isCut = true;
      await record(entry('row 4'));
      return 'again';
    });
    expect(await cut).toBe('again');
    expect(await written()).toEqual(texts([1, 2, 3, 4]));
  });

  it('finishes earlier writes when it closes, and refuses later writes', async () => {
    const lane = openTestLane(url);
    const made = [lane.join(memberOf(1)), changeOf(2)(lane), lane.join(memberOf(3))];
    await lane.close();
    await expect(lane.join(memberOf(4))).rejects.toMatchObject({ code: 'vault_stopping' });
    await expect(changeOf(5)(lane)).rejects.toMatchObject({ code: 'vault_stopping' });
    expect(await results(made)).toEqual(['made', 'changed', 'made']);
    expect(await written()).toEqual(texts([1, 2, 3]));
  });
});

/** A line of a plan that reads or sorts a table. A statement may sort the rows that it is given. */
const TABLE_READ = /Seq Scan on (?!head)|Sort Key: (?!given|rows)/;

describe('a plan that is made on empty tables', () => {
  it.each(Object.entries(HEAD_ROW))('reads no table for %s', async (_, { text }) => {
    await client.run({ text: 'SET plan_cache_mode = force_generic_plan' });
    await client.run({ text: `PREPARE statement AS ${text}` });
    const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
    const values = Array.from({ length: count }, () => 'NULL').join();
    const plan = await client.run({ text: `EXPLAIN EXECUTE statement ${values && `(${values})`}` });
    expect(plan.flat().filter((line) => TABLE_READ.test(String(line)))).toEqual([]);
  });
});
