import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Connections } from '../../src/store/postgres/connections.ts';
import type { SqlClient } from '../../src/store/postgres/sql-client.ts';
import type { StoreUrl } from '../../src/store/postgres/store-url.ts';
import { runBatch } from '../../src/store/postgres/write-transaction.ts';
import { Rollback } from '../../src/store/rows/rollback.ts';
import { entry } from '../conformance/store-fixtures.ts';
import { auditTexts, createTestStore, openTestClient, openTestQueue, writeOf } from './write-queue-fixture.ts';

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

const changeOf = (row: number) => (queue: Pick<Connections, 'change'>) =>
  queue.change(async ({ run, record }) => {
    await run(ADD, [row]);
    await record(entry(`row ${row}`));
    return 'changed';
  });

describe('writes', () => {
  it('share a transaction in their order, at most 64 of them', async () => {
    const queue = openTestQueue(url);
    const all = numbers(1, 100);
    expect(new Set(await results(all.map((row) => queue.join(writeOf(row)))))).toEqual(new Set(['made']));
    expect(await written()).toEqual(texts(all));
    const batches = 'SELECT count(*) FROM vault.audit WHERE sequence > 0 GROUP BY xmin::text ORDER BY min(sequence)';
    expect(await client.run({ text: batches })).toEqual([[64], [36]]);
  });

  it('are sent from BEGIN to COMMIT before the first answer', async () => {
    const sent: string[] = [];
    const send = (text: string) => new Promise<never>(() => void sent.push(text));
    const run: SqlClient['run'] = (statement) => send(typeof statement === 'string' ? statement : statement.text);
    void runBatch({ ...client, run, commit: () => send('COMMIT') }, [writeOf(1), writeOf(2)]);
    await setImmediate();
    expect(sent[0]).toMatch(/^BEGIN/);
    expect(sent.at(-1)).toBe('COMMIT');
  });

  it('change nothing when they are refused, which costs the others nothing', async () => {
    const queue = openTestQueue(url);
    await queue.join(writeOf(5));
    const made = await results([1, 2, 5, 3, 5, 4].map((row) => queue.join(writeOf(row))));
    expect(made).toEqual(['made', 'made', 'refused', 'made', 'refused', 'made']);
    expect(await written()).toEqual(texts([5, 1, 2, 3, 4]));
    const batches = 'SELECT count(*) FROM vault.audit WHERE sequence > 1 GROUP BY xmin::text';
    expect(await client.run({ text: batches })).toEqual([[4]]);
  });

  it('are rejected when the audit lacks the row that their writer knew', async () => {
    const queue = openTestQueue(url);
    await queue.join(writeOf(1));
    const [[link] = []] = await client.run({ text: 'SELECT link FROM vault.audit WHERE sequence = 1' });
    const known = { sequence: 1, link: link as Uint8Array };
    await client.run({ text: 'DELETE FROM vault.audit WHERE sequence = 1' });
    const audit = { ...entry('row 2'), witness: known };
    const made = await results([writeOf(2, { audit }), writeOf(3)].map((write) => queue.join(write)));
    expect(made).toEqual(Array(2).fill(expect.stringMatching(/^write_conflict/)));
    expect(await results([queue.join(writeOf(2))])).toEqual(['made']);
    expect(await written()).toEqual(texts([2]));
  });

  it('succeed when a statement of another write fails, or its answer cannot be read', async () => {
    const queue = openTestQueue(url);
    const read = () => {
      throw new Error('refused');
    };
    const made = await results([
      queue.join(writeOf(1)),
      queue.join(writeOf(2, { statements: () => [[FAIL, []]] })),
      queue.join(writeOf(3, { statements: () => [], read })),
      queue.join(writeOf(4)),
    ]);
    expect(made).toEqual(['made', expect.stringMatching(/^internal_error/), 'refused', 'made']);
    expect(await written()).toEqual(texts([1, 4]));
  });

  it('append to one audit from two queues', async () => {
    const queues = [openTestQueue(url), openTestQueue(url)];
    const all = numbers(1, 300);
    const made = await results(
      all.map((row) => (queues[row % 2] ?? queues[0])?.join(writeOf(row)) ?? Promise.resolve()),
    );
    expect(new Set(made)).toEqual(new Set(['made']));
    expect((await written()).toSorted()).toEqual(texts(all).toSorted());
  });
});

describe('a change', () => {
  it('runs alone, between writes', async () => {
    const queue = openTestQueue(url);
    const made = [queue.join(writeOf(1)), changeOf(2)(queue), queue.join(writeOf(3)), changeOf(4)(queue)];
    expect(await results(made)).toEqual(['made', 'changed', 'made', 'changed']);
    expect(await written()).toEqual(texts([1, 2, 3, 4]));
  });

  it('leaves nothing when it throws or is undone', async () => {
    const queue = openTestQueue(url);
    const failing = (error: () => unknown) =>
      queue.change(async ({ run, append }) => {
        await run(ADD, [1]);
        await append(entry('row 1'), entry('row 2'));
        throw error();
      });
    await expect(failing(() => new Error('no'))).rejects.toThrow('no');
    expect(await failing(() => new Rollback('undone'))).toBe('undone');
    const statement = queue.change(({ run }) => Promise.all([run(ADD, [1]), run(FAIL), run(ADD, [2])]));
    await expect(statement).rejects.toMatchObject({ code: 'internal_error' });
    expect(await rows()).toEqual([]);
    expect(await changeOf(3)(queue)).toBe('changed');
    expect(await written()).toEqual(texts([3]));
  });

  it('is on the disk before its answer, whatever the database is set to', async () => {
    const [[name] = []] = await client.run('SELECT current_database()');
    await client.run(`ALTER DATABASE "${name}" SET synchronous_commit TO off`);
    const setting = async (run: SqlClient['run']) => (await run('SHOW synchronous_commit')).flat();
    expect(await setting((await openTestClient(url)).run)).toEqual(['off']);
    expect(await openTestQueue(url).change(({ run }) => setting(run))).toEqual(['on']);
  });

  it('runs again after a temporary failure, until its deadline', async () => {
    const queue = openTestQueue(url, { deadlineMs: 300 });
    const deadlock = { text: "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$" };
    let tries = 0;
    const failing = (until: number) =>
      queue.change(async ({ run, record }) => {
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
    const [stopped, other] = [openTestQueue(url), openTestQueue(url)];
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
    await other.join(writeOf(2));
    expect(performance.now() - started).toBeLessThan(900);
    await change;
    expect(runs).toBe(2);
    expect(await written()).toEqual(texts([2, 1]));
  });
});

describe('the queue', () => {
  it('connects again after its connection was lost', async () => {
    const queue = openTestQueue(url);
    await queue.join(writeOf(1));
    const end =
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';
    await client.run({ text: end });
    expect(await queue.join(writeOf(2))).toBe('made');
    await client.run({ text: end });
    expect(await changeOf(3)(queue)).toBe('changed');
    let isCut = false;
    const cut = queue.change(async ({ run, record }) => {
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
    const queue = openTestQueue(url);
    const made = [queue.join(writeOf(1)), changeOf(2)(queue), queue.join(writeOf(3))];
    await queue.close();
    await expect(queue.join(writeOf(4))).rejects.toMatchObject({ code: 'vault_stopping' });
    await expect(changeOf(5)(queue)).rejects.toMatchObject({ code: 'vault_stopping' });
    expect(await results(made)).toEqual(['made', 'changed', 'made']);
    expect(await written()).toEqual(texts([1, 2, 3]));
  });
});
