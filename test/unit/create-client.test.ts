import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import {
  type Application,
  type CallOptions,
  type ClientOptions,
  type CreateToken,
  createClient,
  type Fetch,
  type Tenant,
  type Token,
  type UpdateApplication,
  type UpdateTenant,
  type UpdateToken,
  type VaultClient,
  VaultError,
} from '../../src/client/create-client.ts';
import type { Json } from '../../src/contract/json.ts';
import { type BodyOf, OPERATIONS, type Operation, type QueryOf, type ResultOf } from '../../src/contract/operations.ts';
import { UUID } from '../../src/contract/schema.ts';
import { Problem, problemReply } from '../../src/core/problem.ts';

type Init = Parameters<Fetch>[1];

/** Returns a `fetch` with this response and the requests that it received. */
function answering(status: number, body = '', headers: Readonly<Record<string, string>> = {}) {
  const asked: { readonly url: string; readonly init: Init }[] = [];
  const fetch: Fetch = async (url, init) => {
    asked.push({ url, init });
    const { signal } = init;
    if (signal.aborted) throw signal.reason;
    return { status, headers: { get: (name) => headers[name.toLowerCase()] ?? null }, text: async () => body };
  };
  return { asked, fetch };
}

const at = { url: 'http://vault.test:8484/', apiKey: 'key_x' };

describe('the typed client', () => {
  it.each(Object.entries<Operation>(OPERATIONS))('%s sends the request of its row', async (id, row) => {
    const { asked, fetch } = answering(row.status, row.status === 204 ? '' : '{}');
    const calls: Readonly<Record<string, (request: never) => Promise<unknown>>> = {
      ...createClient({ ...at, fetch }),
    };
    const names = Object.keys(row.params?.properties ?? {});
    const params = row.params && Object.fromEntries(names.map((name) => [name, 'a b/..']));
    const result = await calls[id]?.({ params, body: row.body && { x: 1 } } as never);
    expect(result).toEqual(row.status === 204 ? undefined : {});
    const [{ url, init } = { url: '', init: undefined }] = asked;
    expect(url).toBe(`http://vault.test:8484${row.path.replaceAll(/\{\w+\}/g, 'a%20b%2F..')}`);
    expect(init).toMatchObject({ method: row.method, redirect: 'error', headers: { 'SVC-API-KEY': 'key_x' } });
    expect(init?.body).toBe(row.body === undefined ? undefined : '{"x":1}');
    const mediaType = row.body === undefined ? undefined : (row.mediaType ?? 'application/json');
    expect(init?.headers['content-type']).toBe(mediaType);
  });

  it('encodes queries for the daemon', async () => {
    const { asked, fetch } = answering(200, '{}');
    const client = createClient({ ...at, headerPrefix: 'ABC', fetch });
    await client.listTokens({
      query: { id: ['a', 'b'], type: ['card'], metadata: { 'x.y': 'ü&' }, page: 2 },
      traceId: 'trace',
    });
    await client.getToken({ params: { id: '...' } });
    expect(asked.map(({ url }) => url.replace('http://vault.test:8484', ''))).toEqual([
      '/tokens?id=a&id=b&type=card&metadata.x.y=%C3%BC%26&page=2',
      '/tokens/...',
    ]);
    expect(asked[0]?.init.headers).toMatchObject({ 'ABC-API-KEY': 'key_x', 'ABC-TRACE-ID': 'trace' });
  });

  it('sends a new idempotency key with each create, and a given one with any call', async () => {
    const { asked, fetch } = answering(200, '{}');
    const client = createClient({ ...at, fetch });
    await client.createToken({ body: { type: 'token', data: 1 } });
    await client.createToken({ body: { type: 'token', data: 1 } });
    await client.createToken({ body: { type: 'token', data: 1 }, idempotencyKey: 'own' });
    await client.updateToken({ params: { id: 'x' }, body: {}, idempotencyKey: 'patch' });
    await client.updateToken({ params: { id: 'x' }, body: {} });
    await client.regenerateApplicationKey({ params: { id: 'x' } });
    await client.getTenant();
    const [first, second, ...others] = asked.map(({ init }) => init.headers['SVC-IDEMPOTENCY-KEY']);
    expect(first).toMatch(new RegExp(UUID));
    expect(second).toMatch(new RegExp(UUID));
    expect(second).not.toBe(first);
    expect(others).toEqual(['own', 'patch', undefined, undefined, undefined]);
  });

  it('throws the problem of a reply', async () => {
    const errors = { 'data.number': ['must be a card number'], type: ['is required'] };
    const reply = problemReply(new Problem('invalid_request', { errors }), 'trace-1');
    const { fetch } = answering(reply.status, reply.bodyText, { 'svc-trace-id': 'trace-1' });
    const failed = createClient({ ...at, fetch }).createToken({ body: { type: 'card', data: 1 } });
    await expect(failed).rejects.toBeInstanceOf(VaultError);
    await expect(failed).rejects.toMatchObject({
      name: 'VaultError',
      code: 'invalid_request',
      status: 400,
      title: 'Bad Request',
      message: 'invalid_request: The request failed validation. data.number: must be a card number; type: is required',
      detail: 'The request failed validation.',
      errors,
      traceId: 'trace-1',
      retryAfter: undefined,
    });
  });

  it('reports when to try again', async () => {
    const { bodyText } = problemReply(new Problem('too_many_requests'), 't');
    const { fetch } = answering(429, bodyText, { 'retry-after': '7' });
    await expect(createClient({ ...at, fetch }).getTenant()).rejects.toMatchObject({ retryAfter: 7, errors: {} });
  });

  it.each([
    ['a page', 200, '<html>'],
    ['another server’s error', 502, 'Bad Gateway'],
    ['a problem of another', 404, '{"type":"about:blank","detail":"no"}'],
    ['nothing', 200, ''],
    ['a value that is no result', 200, '1'],
  ])('rejects %s as not a vault', async (_what, status, body) => {
    const { fetch } = answering(status, body);
    const code = 'not_a_vault';
    await expect(createClient({ ...at, fetch }).getTenant()).rejects.toMatchObject({ code, status, traceId: '' });
  });

  it('recognizes errors of another copy of the module, and no others', () => {
    const more = { traceId: '' };
    const copied = Object.assign(new Error('x'), { name: 'VaultError', code: 'token_not_found', traceId: 't' });
    class Narrower extends VaultError {}
    expect(copied).toBeInstanceOf(VaultError);
    expect(new VaultError(404, {}, more)).toBeInstanceOf(VaultError);
    expect(new Narrower(404, {}, more)).toBeInstanceOf(Narrower);
    expect(new Narrower(404, {}, more)).toBeInstanceOf(VaultError);
    expect(new VaultError(404, {}, more)).not.toBeInstanceOf(Narrower);
    for (const other of [new Error('x'), null, undefined, 'VaultError', {}]) {
      expect(other instanceof VaultError).toBe(false);
    }
  });

  it.each(['http://vault.test?x', 'http://vault.test/?x=1', 'http://vault.test/base#part', 'http://vault.test/#'])(
    'rejects the URL %s',
    (url) => {
      const message = 'url must have no query and no fragment';
      expect(() => createClient({ url, apiKey: 'k', fetch: answering(200).fetch })).toThrow(new TypeError(message));
    },
  );

  it.each(['http://user:s3cret@vault.test', 'https://user@vault.test/base'])('rejects the credentials in %s', (url) => {
    const message = 'url must have no user name and no password';
    expect(() => createClient({ url, apiKey: 'k' })).toThrow(new TypeError(message));
  });

  it('rejects an unknown option', () => {
    const message = 'createClient has no option apikey; did you mean apiKey?';
    expect(() => createClient({ ...at, ...{ apikey: 'k' } })).toThrow(new TypeError(message));
  });

  it('names the option that replaces a missing global fetch', async () => {
    vi.stubGlobal('fetch', undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const message = 'there is no global fetch; pass the option fetch to createClient';
    await expect(createClient(at).getTenant()).rejects.toThrow(new TypeError(message));
  });

  it('requires a URL that fetch supports', () => {
    expect(() => createClient({ url: 'unix:/v.sock', apiKey: 'k' })).toThrow(TypeError);
    expect(() => createClient({ url: 'unix:/v.sock', apiKey: 'k', fetch: answering(200).fetch })).not.toThrow();
  });
});

describe('a result of any JSON type', () => {
  it.each(['"4242"', '7', 'null', 'false', '[1]', '{"a":1}'])('may be %s', async (text) => {
    const client = createClient({ url: 'http://vault', apiKey: 'k', fetch: answering(200, text).fetch });
    expect(await client.detokenize({ body: {} })).toEqual(JSON.parse(text));
  });
});

type RequestOf<Id extends keyof VaultClient> = NonNullable<Parameters<VaultClient[Id]>[0]>;

/** Checked by tsc: a wrong line here does not compile. */
describe('the types of the client', () => {
  it('match the table of operations', () => {
    expectTypeOf<keyof VaultClient>().toEqualTypeOf<keyof typeof OPERATIONS>();
    expectTypeOf<Awaited<ReturnType<VaultClient['deleteToken']>>>().toEqualTypeOf<undefined>();
    type Created = Awaited<ReturnType<VaultClient['createToken']>>;
    expectTypeOf<Created['id']>().toEqualTypeOf<string>();
    expectTypeOf<Created['data']>().toEqualTypeOf<Json | undefined>();
    expectTypeOf<Created['type']>().extract<'card'>().toEqualTypeOf<'card'>();
    expectTypeOf<Awaited<ReturnType<VaultClient['createApplication']>>['key']>().toEqualTypeOf<string>();
    expectTypeOf<Awaited<ReturnType<VaultClient['regenerateApplicationKey']>>['key']>().toEqualTypeOf<string>();
    expectTypeOf<Awaited<ReturnType<VaultClient['getApplication']>>['key']>().toEqualTypeOf<string | undefined>();
    type Page = Awaited<ReturnType<VaultClient['listTokens']>>;
    expectTypeOf<Page['pagination']['total_items']>().toEqualTypeOf<number>();
    expectTypeOf<Page['data'][number]['id']>().toEqualTypeOf<string>();
  });

  it('match the types that the contract infers', () => {
    type Results = { [Id in keyof VaultClient]: Awaited<ReturnType<VaultClient[Id]>> };
    type Plain = Omit<Results, 'createApplication' | 'regenerateApplicationKey' | 'createApplicationKey'>;
    expectTypeOf<Plain>().toExtend<{ [Id in keyof Plain]: ResultOf<Id> }>();
    expectTypeOf<{ [Id in keyof Plain]: ResultOf<Id> }>().toExtend<Plain>();
    type Bodies = { [Id in keyof VaultClient]: 'body' extends keyof RequestOf<Id> ? RequestOf<Id>['body'] : undefined };
    // The contract leaves the type of a read-only member open, because the vault compares it with the stored value.
    type ReadOnly =
      | ('id' | 'tenant_id' | 'owner_id' | 'type' | 'fingerprint' | 'expires_at' | 'expiring_applications')
      | ('created_by' | 'created_at' | 'modified_by' | 'modified_at');
    type Settable<Id, Body> = Id extends `update${string}` ? Omit<Body, ReadOnly> : Body;
    expectTypeOf<{ [Id in keyof Bodies]: Settable<Id, BodyOf<Id>> }>().toExtend<{
      [Id in keyof Bodies]: Settable<Id, Bodies[Id]>;
    }>();
    type Queries = { [Id in keyof VaultClient]: RequestOf<Id> extends { readonly query?: infer Q } ? Q : undefined };
    expectTypeOf<{ [Id in 'listTokens' | 'listLogs']: QueryOf<Id> }>().toExtend<
      Pick<Queries, 'listTokens' | 'listLogs'>
    >();
  });

  it('accept what a read returned as the body of an update', () => {
    expectTypeOf<Token>().toExtend<UpdateToken>();
    expectTypeOf<Tenant>().toExtend<UpdateTenant>();
    expectTypeOf<Application>().toExtend<UpdateApplication>();
    expectTypeOf<UpdateToken['fingerprint']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<{ readonly name: string; readonly id: number }>().not.toExtend<UpdateApplication>();
  });

  it('require mandatory members and reject unknown ones', () => {
    interface Card {
      readonly number: string;
    }
    expectTypeOf<{ readonly body: { readonly type: 'card'; readonly data: Card } }>().toExtend<
      RequestOf<'createToken'>
    >();
    expectTypeOf<{ readonly body: { readonly data: Card } }>().not.toExtend<RequestOf<'createToken'>>();
    expectTypeOf<{ readonly body: { readonly type: 'crad'; readonly data: 1 } }>().not.toExtend<
      RequestOf<'createToken'>
    >();
    expectTypeOf<object>().not.toExtend<RequestOf<'getToken'>>();
    expectTypeOf<Exclude<keyof RequestOf<'getToken'>, keyof CallOptions>>().toEqualTypeOf<'params' | 'query'>();
    expectTypeOf<VaultClient['getToken']>().parameters.toExtend<[unknown]>();
    expectTypeOf<[]>().toExtend<Parameters<VaultClient['listTokens']>>();
    expectTypeOf<[]>().toExtend<Parameters<VaultClient['getTenant']>>();
    expectTypeOf<[]>().not.toExtend<Parameters<VaultClient['getToken']>>();
    expectTypeOf(globalThis.fetch).toExtend<Fetch>();
  });

  it('accept undefined for optional members', () => {
    type Without<Type> = { readonly [Name in keyof Type]: Type[Name] | undefined };
    expectTypeOf<Without<ClientOptions> & Pick<ClientOptions, 'url' | 'apiKey'>>().toExtend<ClientOptions>();
    expectTypeOf<Without<CallOptions>>().toExtend<CallOptions>();
    expectTypeOf<Without<CreateToken> & Pick<CreateToken, 'type'>>().toExtend<CreateToken>();
    type Query = NonNullable<RequestOf<'listTokens'>['query']>;
    expectTypeOf<Without<Query>>().toExtend<Query>();
  });
});
