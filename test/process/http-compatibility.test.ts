import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import type { ProblemCode } from '../../src/contract/problems.ts';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { daemonOptions, echoClient, flawsOfProblem, KEY, type RawResponse, raw } from './http-fixture.ts';

// Sends the bytes that clients of a hosted service with this API send.

const atEnd = atEndOfSuite();
let world: TestVault;
let daemon: Daemon;
let port: number;
/** The key of a private application that creates, reveals, updates and deletes every token. */
let writer: string;

beforeAll(async () => {
  world = await openTestVault('compatibility', { atEnd });
  const permissions = ['token:create', 'token:read', 'token:update', 'token:delete'];
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions };
  writer = await world.application({ name: 'writer', type: 'private', rules: [rule] });
  daemon = await startDaemon(world.client, daemonOptions({ limits: world.vault.limits }));
  port = daemon.port ?? 0;
});

afterAll(() => daemon.stop());

/** Returns the bytes of a request. `head` is the request line without the version. Fields are written unchanged. */
function bytes(head: string, fields: readonly string[], body = ''): Buffer {
  const lines = [`${head} HTTP/1.1`, `Host: 127.0.0.1:${port}`, ...fields];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

const lengthOf = (body: string) => `Content-Length: ${Buffer.byteLength(body, 'latin1')}`;
const keyField = (key: string) => `SVC-API-KEY: ${key}`;

interface Sent {
  readonly key?: string;
  /** The content type of the body, or null for none. */
  readonly type?: string | null;
  readonly body?: string;
  readonly fields?: readonly string[];
}

async function send(head: string, { key = writer, type = 'application/json', body, fields = [] }: Sent = {}) {
  const ofBody = body === undefined ? [] : [...(type === null ? [] : [`Content-Type: ${type}`]), lengthOf(body)];
  const isHead = head.startsWith('HEAD ');
  const { responses } = await raw(port, bytes(head, [keyField(key), ...ofBody, ...fields], body), { head: isHead });
  const [response] = responses;
  if (response === undefined) throw new Error(`no response to ${head}`);
  return response;
}

const json = (response: RawResponse) => JSON.parse(response.body);

async function create(token: object = { type: 'token', data: 'x' }): Promise<string> {
  const response = await send('POST /tokens', { body: JSON.stringify(token) });
  expect(response.status).toBe(201);
  return json(response).id;
}

/** Creates a public application. Returns its id. */
async function newApplication(): Promise<string> {
  const body = JSON.stringify({ name: 'a', type: 'public', permissions: ['token:create'] });
  return json(await send('POST /applications/', { key: world.management, body })).id;
}

describe('a trailing slash', () => {
  const client = echoClient();
  let echo: Daemon;
  beforeAll(async () => {
    echo = await startDaemon(client, daemonOptions());
  });
  afterAll(() => echo.stop());

  test.each(Object.entries<Operation>(OPERATIONS))('%s ignores it', async (id, row) => {
    client.calls.length = 0;
    const path = row.path.replaceAll(/\{\w+\}/g, 'an%20id');
    for (const target of [path, `${path}/`, `${path}?`, `${path}/?`]) {
      const request = `${row.method} ${target} HTTP/1.1\r\nHost: localhost:${echo.port}\r\nSVC-API-KEY: ${KEY}\r\n\r\n`;
      await raw(echo.port ?? 0, request);
    }
    const names = Object.keys(row.params?.properties ?? {});
    const params = Object.fromEntries(names.map((name) => [name, 'an id']));
    expect(client.calls.map(({ operation, params: found, query }) => ({ operation, found, query }))).toEqual(
      Array(4).fill({ operation: id, found: params, query: [] }),
    );
  });

  test('a double slash matches no route', async () => {
    for (const head of ['GET /tokens//', 'DELETE /tokens//', 'POST /applications//regenerate', 'GET /tenants/self//']) {
      expect(flawsOfProblem(await send(head), 'route_not_found')).toEqual([]);
    }
  });
});

describe('an operation without a body', () => {
  const form = 'Content-Type: application/x-www-form-urlencoded';
  const multipart = 'Content-Type: multipart/form-data';
  test.each<readonly [string, readonly string[], string]>([
    ['an empty form', [form, 'Content-Length: 0'], ''],
    ['an empty form without a length', [form], ''],
    ['an empty form in chunks', [form, 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['an empty JSON body', ['Content-Type: application/json; charset=utf-8', 'Content-Length: 0'], ''],
    ['nothing', [], ''],
    ['an empty object', ['Content-Type: application/json', 'Content-Length: 2'], '{}'],
    ['an empty object of no type', ['Content-Length: 4'], '{ }\n'],
    ['null', ['Content-Type: text/plain; charset=latin1', 'Content-Length: 6'], ' null '],
    ['a byte order mark', ['Content-Length: 3'], '\u00ef\u00bb\u00bf'],
    ['a multipart form without parts', [`${multipart}; boundary=x-1`, 'Content-Length: 9'], '--x-1--\r\n'],
    ['the same with a quoted boundary', [`${multipart};boundary="x 1"`, 'Content-Length: 7'], '--x 1--'],
  ])('accepts %s', async (_what, fields, body) => {
    const id = await newApplication();
    const key = keyField(world.management);
    const regenerated = await raw(port, bytes(`POST /applications/${id}/regenerate`, [key, ...fields], body));
    expect(regenerated.responses[0]?.status).toBe(200);
    expect(JSON.parse(regenerated.responses[0]?.body ?? '').key).toMatch(/^key_/);
    const deleted = await raw(port, bytes(`DELETE /applications/${id}`, [key, ...fields], body));
    expect(deleted.responses.map(({ status, body: text }) => [status, text])).toEqual([[204, '']]);
    const got = await raw(port, bytes('GET /applications/key/', [key, ...fields], body));
    expect(got.responses[0]?.status).toBe(200);
  });

  test.each<readonly [string, Sent, ProblemCode]>([
    ['JSON with a member', { body: '{"a":1}' }, 'malformed_json'],
    ['another value', { body: '[]' }, 'malformed_json'],
    ['a form', { body: 'a=b', type: 'application/x-www-form-urlencoded' }, 'malformed_json'],
    ['a multipart form', { body: '--x\r\n\r\n1\r\n--x--', type: 'multipart/form-data; boundary=x' }, 'malformed_json'],
    ['the boundary of another form', { body: '--y--', type: 'multipart/form-data; boundary=x' }, 'malformed_json'],
    ['bytes of no type', { body: 'x', type: null }, 'malformed_json'],
    ['bytes that are not UTF-8', { body: '\u00ff', type: null }, 'malformed_json'],
  ])('rejects %s, also for GET', async (_what, sent, code) => {
    const response = await send('GET /tokens', sent);
    expect(flawsOfProblem(response, code)).toEqual([]);
    expect(json(response).detail).toBe('The operation takes no body.');
    expect(flawsOfProblem(await send('DELETE /tokens/abc', sent), code)).toEqual([]);
  });
});

describe('verbs', () => {
  const PATHS = [...new Set(Object.values(OPERATIONS).map(({ path }) => path))];
  const VERBS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'BREW'];
  const allowed = (path: string): readonly string[] => {
    // The path of a single token also matches `/tokens/search`, because a token may have this id.
    const fits = (row: Operation) => new RegExp(`^${row.path.replace('{id}', '[^/]+')}$`).test(path);
    const methods = Object.values<Operation>(OPERATIONS).flatMap((row) => (fits(row) ? [row.method] : []));
    return VERBS.filter((verb) => methods.some((method) => method === (verb === 'HEAD' ? 'GET' : verb)));
  };

  test.each(PATHS)('%s allows the methods of the contract, and answers others with 405 and Allow', async (path) => {
    for (const target of [path, `${path}/`].map((one) => one.replace('{id}', 'abc'))) {
      for (const verb of VERBS) {
        if (allowed(path).includes(verb)) continue;
        const response = await send(`${verb} ${target}`);
        if (verb !== 'HEAD') expect(flawsOfProblem(response, 'method_not_allowed')).toEqual([]);
        expect(response.status).toBe(405);
        expect(response.headers.get('allow')).toBe(allowed(path).join(', '));
      }
    }
  });

  test('HEAD is GET without the body', async () => {
    const id = await create();
    for (const target of ['/tokens', `/tokens/${id}`, '/tokens/nothing']) {
      const trace = ['SVC-TRACE-ID: same'];
      const [head, whole] = [
        await send(`HEAD ${target}`, { fields: trace }),
        await send(`GET ${target}`, { fields: trace }),
      ];
      expect([head.status, head.headers.get('content-type')]).toEqual([
        whole.status,
        whole.headers.get('content-type'),
      ]);
      expect(head.headers.get('content-length')).toBe(String(whole.body.length));
    }
  });
});

test('`+` is a space in a query, but not in an id of the path', async () => {
  await create({ type: 'token', data: 'x', id: 'a b' });
  expect(flawsOfProblem(await send('GET /tokens/a+b'), 'token_not_found')).toEqual([]);
  expect((await send('GET /tokens/a%20b')).status).toBe(200);
  expect(json(await send('GET /tokens?id=a+b')).pagination.total_items).toBe(1);
});

describe('a content type', () => {
  test.each([
    ['text/plain', 'The operation accepts the content type application/json, not text/plain.'],
    [
      'application/merge-patch+json; charset=utf-8',
      'The operation accepts the content type application/json, not application/merge-patch+json.',
    ],
    [null, 'The operation accepts the content type application/json; the request names none.'],
    ['application/json; charset=latin1', 'The charset latin1 is not supported; send the body in utf-8.'],
    [
      'application/json; charset=utf-8; charset="utf-16"',
      'The charset utf-16 is not supported; send the body in utf-8.',
    ],
    ['application/json; charset=', 'The charset of the request is not supported; send the body in utf-8.'],
    ['text/\u00e4', 'The operation accepts the content type application/json, not the one of the request.'],
  ])('that is %j is named by the 415', async (type, detail) => {
    const response = await send('POST /tokens', { type, body: '{"type":"token","data":1}' });
    expect([response.status, json(response).detail]).toEqual([415, detail]);
    // RFC 9110 §12.5.3: only a 415 about the content coding has this field.
    expect(response.headers.has('accept-encoding')).toBe(false);
  });

  test('may follow a byte order mark', async () => {
    const body = `\u00ef\u00bb\u00bf{"type":"token","data":"\u00c3\u00a4"}`;
    const created = json(await send('POST /tokens', { body }));
    // Both sides of this test read and write bytes as Latin-1.
    expect(json(await send(`GET /tokens/${created.id}`)).data).toBe('\u00c3\u00a4');
    const twice = await send('POST /tokens', { body: `\u00ef\u00bb\u00bf${body}` });
    expect(flawsOfProblem(twice, 'malformed_json')).toEqual([]);
  });

  test('does not open a compressed body', async () => {
    const body = gzipSync('{"type":"token","data":1}').toString('latin1');
    for (const coding of ['gzip', 'deflate', 'br', 'identity, gzip']) {
      const response = await send('POST /tokens', { body, fields: [`Content-Encoding: ${coding}`] });
      expect(flawsOfProblem(response, 'unsupported_media_type')).toEqual([]);
      expect(json(response).detail).toBe(`The content coding ${coding} is not supported; send the body without one.`);
      expect(response.headers.get('accept-encoding')).toBe('identity');
    }
    const plain = { body: '{"type":"token","data":1}', fields: ['Content-Encoding: identity'] };
    expect((await send('POST /tokens', plain)).status).toBe(201);
  });
});

describe('headers', () => {
  test('that are unknown are ignored', async () => {
    const fields = [
      'User-Agent: some-client/3.1 (x)',
      'Accept: text/html;q=0.9, */*',
      'Accept-Encoding: gzip, br',
      'Authorization: Bearer other',
      'Cookie: a=b',
      'If-None-Match: *',
      'Range: bytes=0-3',
      'X-HTTP-Method-Override: DELETE',
      'X-Forwarded-For: 1.2.3.4',
      'X-Forwarded-Host: evil.example',
    ];
    const sent = { body: '{"type":"token","data":1}', fields };
    const [first, second] = [await send('POST /tokens', sent), await send('POST /tokens', sent)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(json(first).id).not.toBe(json(second).id);
    const got = await send(`GET /tokens/${json(first).id}`, { fields });
    expect(got.status).toBe(200);
    expect(got.headers.has('content-encoding')).toBe(false);
  });

  test('with an idempotency key make a change once, and mark later replies', async () => {
    const sent = { body: '{"type":"token","data":1}', fields: ['SVC-Idempotency-Key: once'] };
    const [first, second] = [await send('POST /tokens', sent), await send('POST /tokens', sent)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toBe(first.body);
    expect([first, second].map(({ headers }) => headers.get('svc-idempotent-replayed'))).toEqual([undefined, 'true']);
    const other = await send('POST /tokens', { ...sent, body: '{"type":"token","data":2}' });
    expect(flawsOfProblem(other, 'idempotency_mismatch')).toEqual([]);
    const bad = await send('POST /tokens', { ...sent, fields: ['SVC-IDEMPOTENCY-KEY:'] });
    expect(Object.keys(json(bad).errors)).toEqual(['IDEMPOTENCY-KEY']);
  });

  test('with another prefix rename the key and the trace id, and the old names are ignored', async () => {
    const acme = await startDaemon(world.client, daemonOptions({ limits: world.vault.limits, headerPrefix: 'Acme' }));
    const ask = async (...fields: readonly string[]) => {
      const lines = ['GET /tokens HTTP/1.1', `Host: localhost:${acme.port}`, ...fields];
      return (await raw(acme.port ?? 0, `${lines.join('\r\n')}\r\n\r\n`)).responses[0];
    };
    const good = await ask(
      `acme-api-key: ${writer}`,
      'ACME-TRACE-ID: t1',
      'Acme-Idempotency-Key: 1',
      'SVC-TRACE-ID: t2',
    );
    const old = await ask(`SVC-API-KEY: ${writer}`);
    await acme.stop();
    expect(good?.status).toBe(200);
    expect(good?.headers.get('acme-trace-id')).toBe('t1');
    expect(good?.headers.has('svc-trace-id')).toBe(false);
    expect(old?.status).toBe(401);
    expect(JSON.parse(old?.body ?? '').instance).toBe(old?.headers.get('acme-trace-id'));
  });
});

test('a query with invalid encoding is reported by name, after 401 and 403', async () => {
  const broken = 'GET /tokens?id=%e0%a4&metadata.a=b';
  expect((await send(broken, { key: 'nobody' })).status).toBe(401);
  expect((await send(broken, { key: world.management })).status).toBe(403);
  const response = await send(broken);
  expect(flawsOfProblem(response, 'invalid_request')).toEqual([]);
  expect(json(response).errors).toEqual({ id: ['is not validly percent-encoded'] });
});

describe('the order of checks holds over HTTP', () => {
  const large = () => ' '.repeat(world.vault.limits.body + 1);
  const gzip = ['Content-Encoding: gzip'];
  const token = '{"type":"token","data":1,"id":"taken"}';

  test.each<readonly [string, () => Sent, ProblemCode]>([
    ['401 before all others', () => ({ key: 'nobody', type: 'text/plain', body: large() }), 'unauthenticated'],
    ['403 before 413', () => ({ key: world.management, body: large() }), 'permission_missing'],
    ['415 before 413', () => ({ type: 'text/plain', body: large() }), 'unsupported_media_type'],
    ['415 for a coding', () => ({ fields: gzip, body: token }), 'unsupported_media_type'],
    ['413', () => ({ body: large() }), 'body_too_large'],
    ['400 for invalid UTF-8', () => ({ body: '"\u00ff"' }), 'malformed_json'],
    ['400 for invalid JSON', () => ({ body: '{' }), 'malformed_json'],
    ['409', () => ({ body: token }), 'token_id_taken'],
  ])('%s', async (_name, sent, code) => {
    await send('POST /tokens', { body: token });
    expect(flawsOfProblem(await send('POST /tokens', sent()), code)).toEqual([]);
  });

  test.each(['GET /tokens/%zz', 'DELETE /tokens/%e0%a4/', 'GET /tokens/%?size=1'])(
    'a path with invalid encoding is reported after 401 and 403: %s',
    async (head) => {
      expect((await send(head, { key: 'key_unknown' })).status).toBe(401);
      expect((await send(head, { key: world.management })).status).toBe(403);
      const response = await send(head);
      expect([response.status, json(response).errors]).toEqual([400, { id: ['is not validly percent-encoded'] }]);
    },
  );

  test.each(['GET /nowhere/%zz', 'POST /tokens/%zz'])('an unknown path is rejected without a key: %s', async (head) => {
    expect((await send(head, { key: 'nobody' })).status).toBe(400);
  });
});
