import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { remoteClient } from '../../src/client/remote.ts';
import type { Call, Reply } from '../../src/contract/call.ts';
import { Fault } from '../../src/core/fault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

type Seen = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion' | 'headers'> & { readonly body: string };

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (response: ServerResponse) => void;

const json = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer => {
  return (response) => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
};
const OK = json(200, '{"a":1.10}', { 'content-type': 'application/json; charset=utf-8', 'svc-trace-id': 'trace-1' });

async function serve(answer: Answer, socket?: string): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, httpVersion, headers } = request;
    seen.push({ method, url, httpVersion, headers, body: await text(request) });
    answer(response);
  });
  servers.push(server);
  await once(socket === undefined ? server.listen(0, '127.0.0.1') : server.listen(socket), 'listening');
  const url = socket === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${socket}`;
  return { url, seen };
}

const PROBLEM = { type: 'urn:token-vault:problem:token_not_found', title: 'Not Found', detail: 'x', instance: 't' };
const GET: Call = { operation: 'getToken', apiKey: 'key_1', params: { id: 'tok' }, query: [] };
const CREATE: Call = { ...GET, operation: 'createToken', params: {}, mediaType: 'application/json' };

/** Makes calls with one client. Resolves to the replies. */
async function callAll(calls: readonly Call[], options: Parameters<typeof remoteClient>[0]) {
  const client = remoteClient(options);
  const replies: Reply[] = [];
  for (const call of calls) replies.push(await client.call(call));
  await client.close();
  return replies;
}

const TRANSPORTS = [
  { transport: 'that keeps its connection', oneShot: false },
  { transport: 'for one call', oneShot: true },
] as const;

describe.each(TRANSPORTS)('a call over HTTP with the transport $transport', ({ oneShot }) => {
  it('sends the request that its row describes', async () => {
    const { url, seen } = await serve(OK);
    const bodyText = '{"data":"é"}';
    const replies = await callAll([{ ...CREATE, bodyText, traceId: 't-1' }], { url, oneShot });
    expect(replies).toEqual([{ status: 200, bodyText: '{"a":1.10}', traceId: 'trace-1' }]);
    const headers = {
      'svc-api-key': 'key_1',
      'svc-trace-id': 't-1',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bodyText)),
      host: url.slice('http://'.length),
    };
    expect(seen).toMatchObject([{ method: 'POST', url: '/tokens', body: bodyText, headers }]);
  });

  it('keeps the order of the query and escapes everything', async () => {
    const { url, seen } = await serve(OK);
    const query = [
      ['id', 'a&b'],
      ['metadata.k=', 'v w'],
      ['id', '2'],
    ] as const;
    const ids = ['a/b?c#d é%', '..'].map((id) => ({ ...GET, params: { id } }));
    await callAll([...ids, { operation: 'listTokens', params: {}, query }], { url: `${url}/base/`, oneShot });
    expect(seen.map((one) => one.url)).toEqual([
      '/base/tokens/a%2Fb%3Fc%23d%20%C3%A9%25',
      '/base/tokens/%2E%2E',
      '/base/tokens?id=a%26b&metadata.k%3D=v%20w&id=2',
    ]);
  });

  it('uses the header prefix, and sends no key that a header cannot hold', async () => {
    const { url, seen } = await serve(json(200, '{}', { 'abc-trace-id': 'trace-2', 'retry-after': '3' }));
    const calls = ['key_1', 'a\nb', undefined].map((apiKey) => ({ ...GET, apiKey }));
    const [reply] = await callAll(calls, { url, headerPrefix: 'ABC', oneShot });
    expect(reply).toEqual({ status: 200, bodyText: '{}', traceId: 'trace-2', retryAfter: 3 });
    expect(seen.map((one) => one.headers['abc-api-key'])).toEqual(['key_1', undefined, undefined]);
    expect(seen[0]?.headers).not.toHaveProperty('content-type');
  });

  it('speaks HTTP/1.1, which proxies expect, and keeps its connection only for several calls', async () => {
    const ports = new Set<number | undefined>();
    const { url, seen } = await serve((response) => {
      ports.add(response.socket?.remotePort);
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      OK(response);
    });
    const replies = await callAll(Array(5).fill(GET), { url, oneShot });
    expect(new Set(replies.map(({ bodyText }) => bodyText))).toEqual(new Set(['{"a":1.10}']));
    expect(seen[0]).toMatchObject({ httpVersion: '1.1', headers: { connection: oneShot ? 'close' : 'keep-alive' } });
    expect(ports.size).toBe(oneShot ? 5 : 1);
  });

  it('reads an answer that comes before the server has read a long body', async () => {
    const body = JSON.stringify({ ...PROBLEM, status: 413 });
    const head = `HTTP/1.1 413 x\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const server = createSocketServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(head + body, () => socket.destroy()));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const calls = [{ ...CREATE, bodyText: JSON.stringify('x'.repeat(4 << 20)) }];
    expect(await callAll(calls, { url, oneShot })).toMatchObject([{ status: 413 }]);
  });

  it.skipIf(process.platform === 'win32')('connects to a Unix socket', async () => {
    const { url, seen } = await serve(OK, path.join(temporaryFolder(onTestFinished), 'v.sock'));
    expect(await callAll([GET], { url, oneShot })).toMatchObject([{ status: 200 }]);
    expect(seen[0]).toMatchObject({ url: '/tokens/tok', headers: { host: 'localhost' } });
  });

  it('returns problems and empty replies unchanged', async () => {
    const bodyText = JSON.stringify({ ...PROBLEM, status: 404 });
    const problem = await serve(json(404, bodyText, { 'content-type': 'application/problem+json' }));
    const nothing = await serve((response) => void response.writeHead(204, { 'svc-trace-id': 't' }).end());
    expect(await callAll([GET], { url: problem.url, oneShot })).toEqual([{ status: 404, bodyText, traceId: '' }]);
    expect(await callAll([GET], { url: nothing.url, oneShot })).toEqual([{ status: 204, traceId: 't' }]);
  });
});

describe.each(TRANSPORTS)('a server that is not a vault, with the transport $transport', ({ oneShot }) => {
  it.each<readonly [string, number, string, string]>([
    ['a page', 200, 'text/html', '<html>'],
    ['an error page', 502, 'text/html', '<html>'],
    ['a JSON error that is no problem', 404, 'application/json', '{"message":"x"}'],
    ['a problem without members', 404, 'application/problem+json', '{}'],
    ['a problem that is not JSON', 404, 'application/problem+json', 'oops'],
    ['a redirect', 302, 'application/json', '{}'],
  ])('rejects %s as unreachable', async (_what, status, type, body) => {
    const { url, seen } = await serve(json(status, body, { 'content-type': type, location: '/elsewhere' }));
    const message = expect.stringContaining('is not a vault');
    await expect(callAll([GET], { url, oneShot })).rejects.toMatchObject({ code: 'unreachable', message });
    expect(seen).toHaveLength(1);
  });

  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nsvc-trace-id: t\r\n\r\n';
  const SWITCH = 'HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const half = (response: ServerResponse) => response.writeHead(200, { 'content-length': '10' });

  it.each<readonly [string, Answer, string]>([
    ['breaks off', (response) => response.destroy(), 'cannot reach'],
    ['breaks off in a body', (response) => half(response).write('{', () => response.destroy()), 'cannot reach'],
    ['breaks off in a body without a length', (response) => response.socket?.end(`${HEAD}{"a":`), 'is not a vault'],
    ['breaks off for another protocol', (response) => response.socket?.write(SWITCH), ''],
    ['hangs', () => undefined, 'no answer within 50 ms'],
    ['hangs in a body', (response) => half(response).write('{'), 'no answer within 50 ms'],
  ])('is unreachable when it %s', async (_what, answer, message) => {
    const { url } = await serve(answer);
    const timeoutMs = message.includes('50') ? 50 : 5_000;
    const called = callAll([GET], { url, oneShot, timeoutMs });
    await expect(called).rejects.toMatchObject({ code: 'unreachable', message: expect.stringContaining(message) });
  });

  it.each([
    ['http://127.0.0.1:1', 'ECONNREFUSED'],
    ['unix:/no/such.sock', 'ENOENT'],
  ])('is unreachable at %s', async (url, message) => {
    await expect(callAll([GET], { url, oneShot })).rejects.toThrow(message);
  });

  it.each(['', 'ftp://a', '127.0.0.1:8484', 'http://', 'unix:', 'http://a/?x=1', 'http://u:secret@a/'])(
    'refuses the URL %j',
    (url) => {
      const make = () => remoteClient({ url, oneShot });
      expect(make).toThrow(Fault);
      expect(make).not.toThrow('secret');
    },
  );
});
