import { expect, it } from 'vitest';
import { MAX_DATA } from '../../src/contract/limits.ts';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

/** The longest text whose JSON, with its quotes, is no longer than the limit. */
const LONGEST = 'x'.repeat(MAX_DATA - 2);

const open = (): Promise<Core> => openCore({ limits: { body: 16 * 1024 * 1024 } });

/** Each body creates or shows a token with this data. `path` is the member that a refusal names. */
const OPERATIONS = [
  { operation: 'createToken', path: 'data', body: (data: string) => ({ type: 'token', data }) },
  { operation: 'previewToken', path: 'data', body: (data: string) => ({ type: 'token', data }) },
  { operation: 'tokenize', path: 'a.data', body: (data: string) => ({ a: { type: 'token', data } }) },
] as const;

it.each(OPERATIONS)('$operation takes 4 MiB of data, and no byte more', async ({ operation, path, body }) => {
  const core = await open();
  expect((await core.own(operation, { body: body(LONGEST) })).status).toBeLessThan(300);
  for (const data of [`${LONGEST}x`, `${LONGEST.slice(0, -1)}\u00e9`]) {
    const refused = await core.own(operation, { body: body(data) });
    expect([refused.status, wrongPaths(refused)]).toEqual([400, [path]]);
  }
});

it('an update may not make data longer than 4 MiB; without read access its patch is dropped', async () => {
  const core = await open();
  const half = 'x'.repeat(MAX_DATA / 2);
  const id = await core.token({ type: 'token', data: { a: half } });
  const body = { data: { b: half }, metadata: { k: 'v' } };
  const refused = await core.own('updateToken', { id, body });
  expect([refused.status, wrongPaths(refused)]).toEqual([400, ['data']]);
  const unread = await core.application({ name: 'u', type: 'private', permissions: ['token:update'] });
  expect((await core.call(unread, 'updateToken', { id, body })).status).toBe(200);
  const after = await core.own('getToken', { id });
  expect([after.at('data'), after.at('metadata')]).toEqual([{ a: half }, { k: 'v' }]);
});
