import { afterEach, expect, it, vi } from 'vitest';
import type { Call, Reply, SentBody } from '../../src/contract/call.ts';
import type { Store } from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import { nextSlice } from '../../src/core/slices.ts';
import type { Vault, VaultSettings } from '../../src/vault/vault.ts';
import { openTestVault } from '../test-vault.ts';
import { callVault, fileVault, newApplication, openedVault } from './vault-admin-fixture.ts';

const TRACE = 'trace';

afterEach(() => vi.restoreAllMocks());
const DAY = 86_400_000;

const CREATE = {
  operation: 'createToken',
  mediaType: 'application/json',
  bodyText: '{"type":"token","data":1}',
} as const;

const take = (vault: Vault, call: Partial<Call>): Promise<Reply> =>
  new Promise((resolve) => {
    vault.take({ operation: 'getToken', params: {}, query: [], traceId: TRACE, ...call }, resolve);
  });

/** Opens a new vault whose store has other methods. */
async function openOver(over: (file: Store) => Partial<Store>, settings?: VaultSettings) {
  const opened = await openTestVault('ticks', { storeOf: (file) => ({ ...file, ...over(file) }), settings });
  await opened.vault.ready();
  return opened;
}

async function openServed() {
  const { file, management, apiKey } = await fileVault(3);
  const vault = await openedVault(file);
  await vault.ready();
  return { vault, management, apiKey };
}

it('the calls of a tick have the same replies as one at a time', async () => {
  const { vault, management, apiKey } = await openServed();
  const masking = await newApplication(vault, management, { permissions: ['token:read'] });
  const creating = await newApplication(vault, management, { permissions: ['token:create'] });
  const rules = [{ description: '', priority: 1, container: '/x/', transform: 'mask', permissions: ['token:read'] }];
  const elsewhere = await newApplication(vault, management, { rules });
  const calls: Partial<Call>[] = [
    ...[apiKey, masking.key, creating.key, elsewhere.key, management, 'nonsense', undefined].flatMap((key) => [
      { apiKey: key, params: { id: 'token-0' } },
      { apiKey: key, params: { id: 'none' } },
      { apiKey: key, params: { id: 'token-0' }, bodyText: '{}' },
      { apiKey: key, params: { id: 'token-0' }, bodyText: '{"a":1}' },
      { apiKey: key, operation: 'createToken' as const, mediaType: 'text/plain', bodyText: '{}' },
      { apiKey: key, params: { id: 'token-0' }, query: [['a', 'b']] as const },
      { apiKey: key, operation: 'listTokens' as const },
      { apiKey: key, operation: 'listTokens' as const, query: [['size', '0']] as const },
      { apiKey: key, operation: 'getTenant' as const },
    ]),
  ];
  const single: Reply[] = [];
  for (const call of calls)
    single.push(await vault.dispatch({ operation: 'getToken', params: {}, query: [], traceId: TRACE, ...call }));
  const together = await Promise.all(calls.map((call) => take(vault, call)));
  expect(together).toEqual(single);
  expect(new Set(single.map(({ status }) => status))).toEqual(new Set([200, 400, 401, 403, 404, 415]));
  await vault.close();
});

it('a tick ends a key at once when it is regenerated or expires', async () => {
  const { vault, management, clock } = await openOver(() => ({}));
  const status = async (key: string) => (await take(vault, { operation: 'listTokens', apiKey: key })).status;
  const permissions = ['token:read'];

  const { id, key } = await newApplication(vault, management, { permissions });
  expect([await status(key), await status(key)]).toEqual([200, 200]);
  const { body } = await callVault(vault, management, 'regenerateApplicationKey', { id });
  expect([await status(key), await status(body['key'])]).toEqual([401, 200]);

  const expires_at = new Date(clock.now() + DAY / 2).toISOString();
  const brief = await newApplication(vault, management, { type: 'expiring', permissions, expires_at });
  expect([await status(brief.key), await status(brief.key)]).toEqual([200, 200]);
  clock.advance(DAY);
  expect(await status(brief.key)).toBe(401);
});

it('all calls of a tick read the store together, and again when it must wait', async () => {
  // No call takes time, so no tick ends early.
  vi.spyOn(process, 'uptime').mockReturnValue(1);
  let looks = 0;
  let isBusy = false;
  const over = (file: Store): Partial<Store> => ({
    readNow(query) {
      looks += 1;
      return isBusy ? undefined : file.readNow?.(query);
    },
  });
  const { vault, store, management } = await openOver(over, { auditLevel: 'all', auditStrict: true });
  const { key } = await newApplication(vault, management, { permissions: ['token:read'] });
  const listed = () => take(vault, { operation: 'listTokens', apiKey: key });
  await listed();
  for (isBusy of [false, true]) {
    looks = 0;
    const before = (await store.auditHead()).sequence;
    const replies = await Promise.all(Array.from({ length: 10 }, listed));
    expect([looks, ...replies.map(({ status }) => status)]).toEqual([1, ...replies.map(() => 200)]);
    // The audit is strict, so each entry was written before its reply.
    expect((await store.auditHead()).sequence).toBeGreaterThan(before);
  }
});

it('a tick creates its tokens together, and one at a time when one is rejected', async () => {
  const { vault, management, apiKey } = await openServed();
  const reading = await newApplication(vault, management, { permissions: ['token:read'] });
  const create = (body: object, key = apiKey) => {
    const bodyText = JSON.stringify({ type: 'token', ...body });
    return take(vault, { operation: 'createToken', apiKey: key, mediaType: 'application/json', bodyText });
  };
  const listed = async () => JSON.parse((await take(vault, { operation: 'listTokens', apiKey })).bodyText ?? '');
  await take(vault, { apiKey, params: { id: 'token-0' } });
  await create({ data: 'first' }, reading.key);

  const made = await Promise.all([1, 2, 3].map((data) => create({ data, id: `together-${data}` })));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
  const [alone] = [await create({ data: 4, id: 'together-4' })];
  expect(JSON.parse(made[0]?.bodyText ?? '')).toEqual({
    ...JSON.parse(alone?.bodyText ?? ''),
    id: 'together-1',
    fingerprint: JSON.parse(made[0]?.bodyText ?? '').fingerprint,
    created_at: JSON.parse(made[0]?.bodyText ?? '').created_at,
  });

  const mixed = await Promise.all([
    create({ data: 5, id: 'same-id' }),
    create({ data: 6, id: 'same-id' }),
    create({ data: 7, id: 'together-1' }),
    create({ data: 8, deduplicate_token: true }),
    create({ data: 8, deduplicate_token: true }),
    create({ data: 9, id: '{{ data | alias_preserve_length }}' }),
    create({ data: 10 }, reading.key),
    create({ data: 11, nonsense: 1 }),
    create({ data: 12 }),
  ]);
  expect(mixed.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 400, 400, 403, 409, 409]);
  expect((await listed()).pagination.total_items).toBe(3 + 4 + 3);
  await vault.close();
});

it('a tick creates one token for an idempotency key', async () => {
  const { vault, apiKey } = await openServed();
  const create = () => take(vault, { ...CREATE, apiKey, idempotencyKey: 'one' });
  await take(vault, { apiKey, params: { id: 'token-0' } });
  const [first, second] = await Promise.all([create(), create()]);
  expect([first?.status, second?.status]).toEqual([201, 409]);
  expect(await create()).toEqual({ ...first, replayed: true });
  await vault.close();
});

/**
 * Opens a vault that records its snapshots and inserts, the next tick after each insert, and its tokens.
 * Calls `onFind` whenever a token is read.
 */
async function openRecorded(onFind: () => unknown = () => undefined) {
  const events: string[] = [];
  const inserted: number[] = [];
  const over = (file: Store): Partial<Store> => ({
    readNow(query) {
      events.push('look');
      return file.readNow?.((reads) =>
        query({
          ...reads,
          findPresentedToken(...token) {
            onFind();
            return reads.findPresentedToken(...token);
          },
        }),
      );
    },
    insertTokens(tokens, ...more) {
      events.push('insert');
      process.nextTick(() => events.push('tick'));
      inserted.push(tokens.length);
      return file.insertTokens(tokens, ...more);
    },
  });
  const { vault, management } = await openOver(over);
  const { key: apiKey } = await newApplication(vault, management, { permissions: ['token:create', 'token:read'] });
  await take(vault, { operation: 'listTokens', apiKey });
  events.length = 0;
  return { vault, events, inserted, management, apiKey };
}

it.each([
  { creates: 16, groups: [16] },
  { creates: 40, groups: [20, 16, 4] },
  { creates: 600, groups: [256, 172, 86, 43, 22, 16, 5] },
])('a tick leaves half of $creates creates to the next one, in their order', async ({ creates, groups }) => {
  // No create takes time, so no tick ends early.
  vi.spyOn(process, 'uptime').mockReturnValue(1);
  const { vault, inserted, apiKey } = await openRecorded();
  const replies: number[] = [];
  const made = Array.from({ length: creates }, async (_, n) => {
    const { status } = await take(vault, { ...CREATE, apiKey });
    replies.push(n);
    return status;
  });
  expect(new Set(await Promise.all(made))).toEqual(new Set([201]));
  expect(inserted).toEqual(groups);
  expect(replies).toEqual(replies.toSorted((a, b) => a - b));
});

it.each([
  { ms: 1, ticks: 1 },
  { ms: 6, ticks: 3 },
  { ms: 60, ticks: 5 },
])('a tick of calls that take $ms ms each ends after 10 ms', async ({ ms, ticks }) => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { vault, events, apiKey } = await openRecorded(() => {
    seconds += ms / 1000;
  });
  const get = { apiKey, params: { id: 'none' } };
  const replies = await Promise.all(Array.from({ length: 5 }, () => take(vault, get)));
  expect(replies.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
  expect(events).toEqual(Array.from({ length: ticks }, () => 'look'));
});

it('a call whose client left before its tick reads nothing', async () => {
  let reads = 0;
  const { vault, apiKey } = await openRecorded(() => {
    reads += 1;
  });
  const get = { apiKey, params: { id: 'none' } };
  const replies = await Promise.all([take(vault, { ...get, isAbandoned: () => true }), take(vault, get)]);
  expect([replies.map(({ status }) => status), reads]).toEqual([[408, 404], 1]);
});

it('the calls of different keys alternate', async () => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { vault, management, apiKey } = await openRecorded(() => {
    seconds += 0.006;
  });
  const other = await newApplication(vault, management, { permissions: ['token:read'] });
  for (const key of [apiKey, other.key]) await take(vault, { operation: 'listTokens', apiKey: key });
  const answered: string[] = [];
  const get = (key: string) => take(vault, { apiKey: key, params: { id: 'none' } }).then(() => answered.push(key));
  await Promise.all([apiKey, apiKey, apiKey, apiKey, other.key, other.key].map(get));
  expect(answered).toEqual([apiKey, other.key, apiKey, other.key, apiKey, apiKey]);
});

it('many creates of one account do not delay the calls of another', async () => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { vault, management, apiKey } = await openRecorded();
  const other = await newApplication(vault, management, { permissions: ['token:read'] });
  await take(vault, { operation: 'listTokens', apiKey: other.key });
  vi.spyOn(process, 'uptime').mockImplementation(() => (seconds += 0.003));
  let created = 0;
  const creates = Array.from({ length: 60 }, async () => {
    await take(vault, { ...CREATE, apiKey });
    created += 1;
  });
  await take(vault, { apiKey: other.key, params: { id: 'none' } });
  expect(created).toBeLessThan(30);
  await Promise.all(creates);
});

it.each([
  { ms: 6, bytes: 0 },
  { ms: 0, bytes: 1024 * 1024 },
])('long work of $ms ms and $bytes bytes a step does not delay the ticks', async ({ ms, bytes }) => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const { vault, apiKey } = await openRecorded();
  let [steps, isOver] = [0, false];
  async function work(): Promise<void> {
    while (!isOver && steps < 1_000) {
      const slice = nextSlice('long', bytes);
      if (slice !== undefined) await slice;
      seconds += ms / 1000;
      steps += 1;
    }
  }
  const working = work();
  await take(vault, { apiKey, params: { id: 'none' } });
  isOver = true;
  await working;
  expect(steps).toBeLessThan(20);
});

it.each([
  { creates: 1, order: ['look', 'insert', 'tick'] },
  { creates: 2, order: ['look', 'insert', 'tick', 'look'] },
])('a tick with $creates creates beside other calls: $order', async ({ creates, order }) => {
  vi.spyOn(process, 'uptime').mockReturnValue(1);
  const { vault, events, apiKey } = await openRecorded();
  const get = { apiKey, params: { id: 'none' } };
  const made = Array.from({ length: creates }, () => take(vault, { ...CREATE, apiKey }));
  const replies = await Promise.all([take(vault, get), ...made, take(vault, get)]);
  expect(replies.map(({ status }) => status)).toEqual([404, ...made.map(() => 201), 404]);
  expect(events).toEqual(order);
});

it('a tick waits for a body that is still arriving, and survives a failed one', async () => {
  const { vault, apiKey } = await openServed();
  await take(vault, { apiKey, params: { id: 'token-0' } });
  function create(read: (settle: PromiseWithResolvers<SentBody>) => void, later: (work: () => void) => void) {
    let reading: PromiseWithResolvers<SentBody> | undefined;
    const readBody = () => {
      if (reading === undefined) {
        const settle = Promise.withResolvers<SentBody>();
        reading = settle;
        later(() => read(settle));
      }
      return reading.promise;
    };
    return take(vault, { operation: 'createToken', apiKey, mediaType: 'application/json', readBody });
  }
  // Vitest fails on an unhandled rejection.
  const replies = await Promise.all([
    create(({ reject }) => reject(new Problem('vault_busy')), setImmediate),
    create(({ resolve }) => resolve({ bodyText: '{"type":"token","data":1}' }), setImmediate),
  ]);
  expect(replies.map(({ status }) => status)).toEqual([503, 201]);
  const early = create(({ reject }) => reject(new Problem('vault_busy')), process.nextTick);
  expect((await early).status).toBe(503);
  await vault.close();
});

it('a tick that is repeated writes nothing the first time', async () => {
  let fails = false;
  const over = (file: Store): Partial<Store> => ({
    readNow(query) {
      const replies = file.readNow?.(query);
      return fails ? undefined : replies;
    },
  });
  const { vault, management } = await openOver(over);
  const { key } = await newApplication(vault, management, { permissions: ['token:create', 'token:read'] });
  const listed = async () => JSON.parse((await take(vault, { operation: 'listTokens', apiKey: key })).bodyText ?? '');
  await listed();
  fails = true;
  expect((await take(vault, { ...CREATE, apiKey: key })).status).toBe(201);
  fails = false;
  expect((await listed()).pagination.total_items).toBe(1);
});

it('a call on a closed vault returns a problem', async () => {
  const { vault, apiKey } = await openServed();
  await take(vault, { apiKey, params: { id: 'token-0' } });
  await vault.close();
  expect((await take(vault, { apiKey, params: { id: 'token-0' } })).status).toBe(503);
});

it('a tick creates the tokens of other tenants when one tenant was deleted', async () => {
  let gone: Promise<unknown> | undefined;
  const over = (file: Store): Partial<Store> => ({
    async insertTokens(...inserted) {
      await gone;
      return file.insertTokens(...inserted);
    },
  });
  const { vault } = await openOver(over);
  const managements = await Promise.all(
    ['stays', 'goes'].map(async (name) => (await vault.createTenant(name)).application.key ?? ''),
  );
  const creators = await Promise.all(
    managements.map(async (each) => (await newApplication(vault, each, { permissions: ['token:create'] })).key),
  );
  const create = (apiKey: string) => take(vault, { ...CREATE, apiKey });
  expect((await Promise.all(creators.map(create))).map(({ status }) => status)).toEqual([201, 201]);

  const { promise, resolve } = Promise.withResolvers<unknown>();
  gone = promise;
  const creating = Promise.all(creators.map(create));
  await new Promise((tick) => setTimeout(tick, 5));
  resolve(await callVault(vault, managements[1] ?? '', 'deleteTenant'));
  expect((await creating).map(({ status }) => status)).toEqual([201, 401]);
});
