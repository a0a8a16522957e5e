import { afterEach, expect, it, vi } from 'vitest';
import { MAX_LISTED } from '../../src/contract/limits.ts';
import type { Caller, Context } from '../../src/core/handler.ts';
import type { Store } from '../../src/core/ports.ts';
import { readTokens } from '../../src/core/tokens/read-tokens.ts';
import { type Core, openCore, partOfSegment } from './core-fixture.ts';

const MIB = 1024 * 1024;

afterEach(() => vi.restoreAllMocks());

/** Opens a vault with a list of the tokens that are read alone. `changes` happen before these reads. */
async function open() {
  const reads: string[] = [];
  const changes = new Map<string, () => Promise<unknown>>();
  const storeOf = ({ readNow: _, ...store }: Store): Store => {
    const findPresentedToken: Store['findPresentedToken'] = async (tenant, id, now) => {
      reads.push(id);
      await changes.get(id)?.();
      return store.findPresentedToken(tenant, id, now);
    };
    return { ...store, findPresentedToken };
  };
  const core = await openCore({ limits: { body: 4 * MIB, response: 8 * MIB }, storeOf });
  const add = (id: string, size: number) => core.token({ id, type: 'token', data: 'x'.repeat(size), mask: 'm' });
  return { core, reads, changes, add };
}

/** Lists tokens, and returns the status, and the lengths of their data by id. */
async function list({ client, key }: Core, query: readonly (readonly [string, string])[] = [], more: object = {}) {
  const call = { operation: 'listTokens' as const, apiKey: key, params: {}, query, ...more };
  const { status, bodyText = '' } = await client.call(call);
  const { data = [] } = JSON.parse(bodyText);
  return [status, Object.fromEntries(data.map((token: { id: string; data: string }) => [token.id, token.data.length]))];
}

it('a list reads large tokens one at a time, unless it masks them', async () => {
  const { core, reads, add } = await open();
  const sizes = { 'a-1': 2 * MAX_LISTED, 'b-2': 10, 'c-3': 3 * MAX_LISTED };
  for (const [id, size] of Object.entries(sizes)) await add(id, size);
  const search = { mediaType: 'application/json', bodyText: '{"query":"type:token"}' };
  expect(await list(core)).toEqual([200, sizes]);
  expect(await list(core, [], { operation: 'listTokensByCursor' })).toEqual([200, sizes]);
  expect(await list(core, [], { operation: 'searchTokens', ...search })).toEqual([200, sizes]);
  expect(reads).toEqual(['a-1', 'c-3', 'a-1', 'c-3', 'a-1', 'c-3']);
  expect(await list(core, [['transform', 'mask']])).toEqual([200, { 'a-1': 1, 'b-2': 1, 'c-3': 1 }]);
  expect(reads).toHaveLength(6);
});

it('a list and a scan read tokens with large masks one at a time', async () => {
  const { core, reads } = await open();
  const containers = ['/qa/'];
  const add = (id: string, mask: string) => core.token({ id, type: 'token', data: 'd', mask, containers });
  await add('a-1', 'm'.repeat(2 * MAX_LISTED));
  await add('b-2', 'm');
  expect(await list(core)).toEqual([200, { 'a-1': 1, 'b-2': 1 }]);
  expect(await list(core, [['transform', 'mask']])).toEqual([200, { 'a-1': 2 * MAX_LISTED, 'b-2': 1 }]);
  expect(reads).toEqual(['a-1', 'a-1']);
  const apiKey = await partOfSegment(core);
  expect(await list(core, [], { apiKey })).toEqual([200, { 'a-1': 1, 'b-2': 1 }]);
  expect(reads).toEqual(['a-1', 'a-1', 'a-1', 'a-1']);
});

it('a list above the size limit of a response ends before it reads its other tokens', async () => {
  const { core, reads, add } = await open();
  for (const id of ['a-1', 'b-2', 'c-3', 'd-4', 'e-5']) await add(id, 3 * MIB);
  expect(await list(core)).toEqual([400, {}]);
  expect(reads).toEqual(['a-1', 'b-2', 'c-3']);
});

it('a list accepts large tokens that are moved or deleted while it reads', async () => {
  const { core, changes, add } = await open();
  const move = (id: string) => core.own('updateToken', { id, body: { containers: ['/elsewhere/'] } });
  const moved = ['b-2', 'c-3', 'e-5', 'f-6'];
  for (const id of ['a-1', 'd-4', ...moved]) await add(id, 2 * MAX_LISTED);
  changes.set('a-1', () => core.own('deleteToken', { id: 'a-1' }));
  // More than a call that fails with an integrity failure is repeated.
  for (const id of moved) changes.set(id, () => move(id));
  expect(await list(core, [['container', '/general/']])).toEqual([200, { 'd-4': 2 * MAX_LISTED }]);
});

it('a page by cursor that takes long ends before its next large token', async () => {
  const { core } = await open();
  const [apiKey, ids] = [await partOfSegment(core), ['a-1', 'b-2', 'c-3', 'd-4', 'e-5']];
  const large = { type: 'token', data: 'd', mask: 'm'.repeat(2 * MAX_LISTED), containers: ['/qa/'] };
  for (const id of ids) await core.token({ ...large, id });
  let seconds = 1;
  // Each look at the time is 0.3 s after the last one.
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 0.3));
  const pages: string[][] = [];
  for (let start: string | undefined = ''; start !== undefined; ) {
    const query = start === '' ? [] : [['start', start] as const];
    const reply = await core.client.call({ operation: 'listTokensByCursor', apiKey, params: {}, query });
    const { data, pagination } = JSON.parse(reply.bodyText ?? '');
    pages.push(data.map(({ id }: { id: string }) => id));
    start = pagination.next;
  }
  expect(pages.length).toBeGreaterThan(1);
  expect(pages.flat().toSorted()).toEqual(ids);
});

it('a batch outside a tick reads large tokens one at a time, and none above the limit of a response', async () => {
  const { core, reads, add } = await open();
  const small = Array.from({ length: 9 }, (_, n) => `small-${n}`);
  for (const id of ['a-1', 'd-4', 'e-5', 'f-6', ...small]) await add(id, id.startsWith('small') ? 10 : 3 * MIB);
  const detokenize = async (ids: readonly string[]) => {
    reads.length = 0;
    const body = Object.fromEntries(ids.map((id) => [id, `{{${id}}}`]));
    const bodyText = JSON.stringify(body);
    const call = { operation: 'detokenize' as const, apiKey: core.key, params: {}, query: [], bodyText };
    const reply = await core.client.call({ ...call, mediaType: 'application/json' });
    return { status: reply.status, reads: [...reads] };
  };
  expect(await detokenize(['f-6', ...small, 'a-1'])).toEqual({ status: 200, reads: ['f-6', 'a-1'] });
  expect(await detokenize(['a-1', ...small, 'd-4', 'e-5', 'f-6'])).toEqual({
    status: 400,
    reads: ['a-1', 'd-4', 'e-5'],
  });
  // A few are read at once.
  expect(await detokenize(['f-6', ...small.slice(2)])).toEqual({ status: 200, reads: ['f-6', ...small.slice(2)] });
});

it('a batch reads no further token in a tick after a large one', async () => {
  const counts: number[] = [];
  const readNow = (read: (reads: object) => unknown) => {
    const at = counts.push(0) - 1;
    return read({
      findPresentedToken(_tenant: string, id: string) {
        counts[at] = (counts[at] ?? 0) + 1;
        return { presented: new Uint8Array(1), full: new Uint8Array(id === 'large' ? MIB : 1) };
      },
    });
  };
  const caller = { tenant: { record: { id: 't' } } } as Caller;
  const ids = ['a-1', 'large', 'b-2', 'c-3', 'large', 'large'];
  const read: string[] = [];
  for await (const { id } of readTokens(ids, 0, caller, { store: { readNow } } as object as Context)) read.push(id);
  expect({ read, counts }).toEqual({ read: ids, counts: [2, 3, 1] });
});
