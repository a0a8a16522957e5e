import { Socket } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';

let url = '';
beforeAll(async () => {
  url = await createDatabase();
});

const ONE = { name: 'one', text: 'SELECT $1::bigint' };

it('returns rows as arrays, in the types that the store reads', async () => {
  const client = await openClient(url);
  const text = `SELECT 9007199254740991::bigint, 9007199254740993::bigint, 7::int, true, 'é', NULL, '\\x00ff'::bytea,
    ARRAY['\\x0001'::bytea], ARRAY[1, 2]::smallint[], '00000000-0000-7000-8000-000000000001'::uuid`;
  const [row = []] = await client.run({ text });
  const [, unsafe, ...others] = row;
  expect(row[0]).toBe(Number.MAX_SAFE_INTEGER);
  expect(Number.isSafeInteger(unsafe)).toBe(false);
  expect(others).toEqual([7, true, 'é', null, Buffer.of(0, 255), [Buffer.of(0, 1)], [1, 2], expect.any(String)]);
});

it('returns the parameters that it sent', async () => {
  const client = await openClient(url);
  const bytes = Uint8Array.from({ length: 256 }, (_, at) => at);
  const part = Buffer.from(bytes).subarray(5, 9);
  const values = [
    bytes,
    [part, null],
    'a\u{1F600}\\"\'',
    ['a,"b\\', '{}', 'NULL'],
    Number.MAX_SAFE_INTEGER,
    undefined,
    false,
  ];
  const text = 'SELECT $1::bytea, $2::bytea[], $3::text, $4::text[], $5::bigint, $6::text, $7::boolean';
  const [row] = await client.run({ text }, values);
  expect(row).toEqual([Buffer.from(bytes), [part, null], values[2], values[3], values[4], null, false]);
});

it('sends statements before the answers to earlier ones', async () => {
  const client = await openClient(url);
  const started = performance.now();
  const slow = client.run({ text: 'SELECT pg_sleep(0.2)' }).then(() => performance.now() - started);
  const answers = Array.from({ length: 100 }, (_, at) => client.run(ONE, [at]));
  expect(await Promise.all(answers)).toEqual(Array.from({ length: 100 }, (_, at) => [[at]]));
  expect(await slow).toBeGreaterThan(190);
});

describe('a batch', () => {
  const BEGIN = { text: 'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout TO 100' };

  it('is committed', async () => {
    const client = await openClient(url);
    const [, , , [row] = []] = await Promise.all([
      client.run(BEGIN),
      client.run({ text: 'CREATE TABLE public.kept (a bigint)' }),
      client.run({ text: 'INSERT INTO public.kept VALUES ($1)' }, [5]),
      client.run({ text: 'SELECT a FROM public.kept' }),
      client.commit(),
    ]);
    expect(row).toEqual([5]);
    expect(await client.run({ text: 'SELECT a FROM public.kept' })).toEqual([[5]]);
  });

  it('rejects COMMIT when the server rolls back instead', async () => {
    const client = await openClient(url);
    const outcomes = await Promise.allSettled([
      client.run(BEGIN),
      client.run({ text: 'CREATE TABLE public.lost (a bigint)' }),
      client.run({ name: 'bad', text: 'SELECT 1 / $1::int' }, [0]),
      client.run({ name: 'behind', text: 'SELECT 2' }),
      client.commit(),
    ]);
    const codes = outcomes.map((each) => each.status === 'rejected' && each.reason.code);
    expect(codes).toEqual([false, false, '22012', '25P02', '40000']);
    // The failed statements are prepared again.
    expect(await client.run({ name: 'bad', text: 'SELECT 1 / $1::int' }, [1])).toEqual([[1]]);
    expect(await client.run({ name: 'behind', text: 'SELECT 2' })).toEqual([[2]]);
    await expect(client.run({ text: 'SELECT a FROM public.lost' })).rejects.toMatchObject({ code: '42P01' });
  });
});

it('sends the statements of one turn in one write', async () => {
  const client = await openClient(url);
  await client.run(ONE, [0]);
  const writes = vi.spyOn(Socket.prototype, '_writev');
  onTestFinished(() => writes.mockRestore());
  const later = Promise.resolve().then(() => client.run(ONE, [2]));
  await Promise.all([client.run(ONE, [1]), later]);
  expect(writes).toHaveBeenCalledTimes(1);
  await client.run(ONE, [3]);
  expect(writes).toHaveBeenCalledTimes(2);
});

describe('a lost connection', () => {
  it('reports the timeout that ended it, and rejects later statements', async () => {
    const client = await openClient(url);
    await client.run({ text: 'SET idle_in_transaction_session_timeout = 1; BEGIN' });
    expect(await client.ended).toMatchObject({ name: 'PgError', code: '25P03' });
    await expect(client.run(ONE, [1])).rejects.toMatchObject({ code: 'LOST' });
  });

  it('rejects the statements that wait', async () => {
    const client = await openClient(url);
    const answers = [client.run({ text: 'SELECT pg_terminate_backend(pg_backend_pid())' }), client.run(ONE, [1])];
    const codes = await Promise.all(answers.map((each) => each.catch(({ code }) => code)));
    expect(codes).toEqual(['57P01', expect.stringMatching(/^(LOST|ECONNRESET)$/)]);
  });

  it('cuts it when a statement takes too long', async () => {
    const client = await openClient(url, 100);
    const answers = [client.run({ text: 'SELECT pg_sleep(5)' }), client.run(ONE, [1])];
    const codes = await Promise.all(answers.map((each) => each.catch(({ code }) => code)));
    expect(codes).toEqual(['LOST', 'LOST']);
    expect(await client.ended).toMatchObject({ code: 'LOST' });
  });

  it('is none when it was closed', async () => {
    const client = await openClient(url);
    const answer = client.run({ text: 'SELECT 3' });
    await client.close();
    expect(await answer).toEqual([[3]]);
    expect(await client.ended).toBeUndefined();
  });
});
