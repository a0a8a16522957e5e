import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { pairsOf } from '../../src/client/check-request.ts';
import { type ClientOptions, createClient, type Fetch, type VaultClient } from '../../src/client/create-client.ts';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { type OpenedVault, openVault } from '../../src/library/open-vault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** Answers every request with an empty object, and counts the requests. */
const fetch = vi.fn<Fetch>(async () => ({ status: 200, headers: { get: () => null }, text: async () => '{}' }));
const hanging: Fetch = (_url, { signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    signal.throwIfAborted();
  });
let opened: OpenedVault;
let apiKey: string;
beforeAll(async () => {
  const file = path.join(temporaryFolder(afterAll), 'v.db');
  opened = await openVault({ file, createIfMissing: true });
  apiKey = opened.created?.management_key ?? '';
});
afterAll(() => opened.close());

type Options = Pick<ClientOptions, 'apiKey' | 'timeout' | 'signal' | 'fetch'>;
const CLIENTS: readonly (readonly [string, (options: Options) => VaultClient])[] = [
  ['createClient', (options) => createClient({ url: 'http://vault.test', fetch, ...options })],
  [
    'openVault().client',
    (options) => {
      const { fetch: _, ...own } = options ?? {};
      return opened.client(options && own);
    },
  ],
];

const id = (text: unknown) => ({ params: { id: text } });
const query = (members: unknown) => ({ query: members });
const EMPTY = 'must not be an empty list; leave it out to list everything';
const SCALAR = 'must be a string, a number or a boolean';
const SURROGATE = 'contains a lone surrogate, which is not valid Unicode';
const HEADER = 'must be 1 to 200 printable ASCII characters, with no blank at either end';
const swallowed = (text: string) => `params.id must not be '${text}': a URL with it names another resource`;

/** An operation, its argument, and the message after the name of the operation. */
const REFUSED: readonly (readonly [keyof VaultClient, unknown, string])[] = [
  ['getToken', undefined, 'params.id must be a non-empty string'],
  ['getToken', 'x', 'expects an object with params, query, signal, traceId, idempotencyKey'],
  ['getToken', null, 'expects an object with params, query, signal, traceId, idempotencyKey'],
  ['getToken', { id: 'x' }, 'unknown member id; known members: params, query, signal, traceId, idempotencyKey'],
  ['listTokens', { type: ['card'] }, 'unknown member type; known members: query, signal, traceId, idempotencyKey'],
  ['createToken', { data: 1 }, 'unknown member data; known members: body, signal, traceId, idempotencyKey'],
  ['deleteToken', { params: {} }, 'params.id must be a non-empty string'],
  ['getToken', id(''), 'params.id must be a non-empty string'],
  ['getToken', id(7), 'params.id must be a non-empty string'],
  ['getToken', id('.'), swallowed('.')],
  ['getToken', id('..'), swallowed('..')],
  ['deleteToken', id('..'), swallowed('..')],
  ['updateToken', { ...id('.'), body: {} }, swallowed('.')],
  ['regenerateApplicationKey', id('..'), swallowed('..')],
  ['getApplication', id('key'), swallowed('key')],
  ['updateApplication', { ...id('key'), body: {} }, swallowed('key')],
  ['deleteApplication', id('key'), swallowed('key')],
  ['getToken', id('a\ud800'), `params.id ${SURROGATE}`],
  ['listTokens', query('x'), 'query must be an object'],
  ['listTokens', query(null), 'query must be an object'],
  ['listTokens', query(new Map([['id', 'x']])), 'query must be an object'],
  ['listTokens', query({ id: [] }), `query.id ${EMPTY}`],
  ['listTokens', query({ type: [] }), `query.type ${EMPTY}`],
  ['listTokens', query({ container: [] }), `query.container ${EMPTY}`],
  ['listTokens', query({ fingerprint: [] }), `query.fingerprint ${EMPTY}`],
  ['listApplications', query({ id: [] }), `query.id ${EMPTY}`],
  ['listApplications', query({ type: [] }), `query.type ${EMPTY}`],
  ['listTokens', query({ id: ['a', undefined] }), `query.id[1] ${SCALAR}`],
  ['listTokens', query({ id: null }), `query.id ${SCALAR}`],
  ['listTokens', query({ page: Number.NaN }), `query.page ${SCALAR}`],
  ['listTokens', query({ page: new Date(0) }), `query.page ${SCALAR}`],
  ['listTokens', query({ id: ['a\udc00'] }), `query.id[0] ${SURROGATE}`],
  ['listTokens', query({ metadata: null }), 'query.metadata must be an object'],
  ['listTokens', query({ metadata: ['a'] }), 'query.metadata must be an object'],
  ['listTokens', query({ metadata: new Map([['a', 'b']]) }), 'query.metadata must be an object'],
  ['listTokens', query({ metadata: { a: null } }), `query.metadata.a ${SCALAR}`],
  ['listTokens', query({ metadata: { a: ['b'] } }), `query.metadata.a ${SCALAR}`],
  ['listTokens', query({ metadata: { a: { b: 'c' } } }), `query.metadata.a ${SCALAR}`],
  ['getTenant', { signal: {} }, 'signal must be an AbortSignal'],
  ['getTenant', { traceId: '' }, `traceId ${HEADER}`],
  ['getTenant', { traceId: 'ü' }, `traceId ${HEADER}`],
  ['getTenant', { traceId: 't'.repeat(201) }, `traceId ${HEADER}`],
  ['createToken', { body: {}, idempotencyKey: ' k' }, `idempotencyKey ${HEADER}`],
];

const TIMEOUT = 'client: timeout must be a number of milliseconds from 0';
const KEY = 'client: apiKey must be a non-empty string';

describe.each(CLIENTS)('%s', (_name, make) => {
  it.each(REFUSED)('rejects %s(%j): %s', async (operation, request, message) => {
    fetch.mockClear();
    const call = make({ apiKey })[operation] as (request: unknown) => Promise<unknown>;
    await expect(call(request)).rejects.toThrow(new TypeError(`${operation}: ${message}`));
    expect(fetch).not.toHaveBeenCalled();
  });

  it.each<readonly [unknown, string]>([
    [undefined, KEY],
    [{}, KEY],
    [{ apiKey: 7 }, KEY],
    [{ apiKey: ' \r\n' }, KEY],
    [{ apiKey: 'k', timeout: -1 }, TIMEOUT],
    [{ apiKey: 'k', timeout: Number.NaN }, TIMEOUT],
    [{ apiKey: 'k', timeout: '30' }, TIMEOUT],
    [{ apiKey: 'k', timeout: null }, TIMEOUT],
    [{ apiKey: 'k', signal: {} }, 'client: signal must be an AbortSignal'],
  ])('rejects the options %j: %s', (options, message) => {
    expect(() => make(options as Options)).toThrow(new TypeError(message));
  });

  it('has no timeout for 0 and Infinity, and none that ends at once for others', async () => {
    const slow: Fetch = async (...request) => {
      await sleep(50);
      return fetch(...request);
    };
    const timeouts = [0, Number.POSITIVE_INFINITY, 2 ** 31 - 1, 2 ** 31, 1e300, undefined];
    const query = { after: '0.0', wait: 1, operation: 'deleteTenant' };
    const calls = timeouts.map((timeout) => {
      const options = { apiKey, fetch: slow, ...(timeout !== undefined && { timeout }) };
      return make(options).listLogs({ query });
    });
    await expect(Promise.all(calls)).resolves.toHaveLength(timeouts.length);
  });

  it('stops waiting for a call when a signal aborts or its timeout ends', async () => {
    const [all, one] = [new AbortController(), new AbortController()];
    const query = { after: '0.0', wait: 25, operation: 'deleteTenant' };
    const client = make({ apiKey, signal: all.signal, ...{ fetch: hanging } });
    const first = client.listLogs({ query, signal: one.signal });
    one.abort(new Error('one'));
    await expect(first).rejects.toThrow('one');
    const second = client.listLogs({ query });
    all.abort(new Error('all'));
    await expect(second).rejects.toThrow('all');
    await expect(client.getTenant()).rejects.toThrow('all');
    const late = make({ apiKey, timeout: 5, ...{ fetch: hanging } }).listLogs({ query });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it.each(['\ufeffKEY', 'KEY\n', ' \tKEY\r\n', '\ufeffKEY \u00a0'])('trims the key %j', async (text) => {
    fetch.mockClear();
    await expect(make({ apiKey: text.replace('KEY', apiKey) }).getTenant()).resolves.toBeInstanceOf(Object);
    for (const [, { headers }] of fetch.mock.calls) expect(headers['SVC-API-KEY']).toBe(apiKey);
  });
});

it('leaves out members of metadata that are undefined', () => {
  const query = { metadata: { a: '1', b: undefined }, page: undefined };
  expect(pairsOf('listTokens', OPERATIONS.listTokens, query)).toEqual([['metadata.a', '1']]);
});

it('sends no key that a header cannot have', async () => {
  fetch.mockClear();
  await createClient({ url: 'http://vault.test', fetch, apiKey: 'key_ü' }).getTenant();
  expect(fetch.mock.calls.map(([, { headers }]) => headers)).toEqual([{ accept: expect.any(String) }]);
  await expect(opened.client({ apiKey: 'key_ü' }).getTenant()).rejects.toMatchObject({ code: 'unauthenticated' });
});
