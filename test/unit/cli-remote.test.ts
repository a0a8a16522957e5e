import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { remoteClient } from '../../src/client/remote.ts';
import type { Call } from '../../src/contract/call.ts';
import { Fault } from '../../src/core/fault.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly version: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Answer = (response: ServerResponse) => void;

const OK: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'svc-trace-id': 'trace-1' });
  response.end('{"a":1.10}');
};

async function serve(answer: Answer, socket?: string): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      seen.push({
        method: request.method,
        url: request.url,
        version: request.httpVersion,
        headers: request.headers,
        body,
      });
      answer(response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) =>
    socket === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(socket, resolve),
  );
  const url = socket === undefined ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${socket}`;
  return { url, seen };
}

const PROBLEM = { type: 'urn:token-vault:problem:token_not_found', title: 'Not Found', detail: 'x', instance: 't' };
const GET: Call = { operation: 'getToken', apiKey: 'key_1', params: { id: 'tok' }, query: [] };

const TRANSPORTS = [
  { transport: 'that keeps its connection', oneShot: false },
  { transport: 'for one call', oneShot: true },
] as const;

describe.each(TRANSPORTS)('a call over HTTP with the transport $transport', ({ oneShot }) => {
  it('sends the request that its row describes', async () => {
    const { url, seen } = await serve(OK);
    const client = remoteClient({ url, oneShot });
    const bodyText = '{"data":"é"}';
    const call: Call = {
      operation: 'createToken',
      apiKey: 'key_1',
      mediaType: 'application/json',
      params: {},
      query: [],
      bodyText,
      traceId: 't-1',
    };
    expect(await client.call(call)).toEqual({ status: 200, bodyText: '{"a":1.10}', traceId: 'trace-1' });
    await client.close();
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/tokens', body: bodyText });
    expect(seen[0]?.headers).toMatchObject({
      'svc-api-key': 'key_1',
      'svc-trace-id': 't-1',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bodyText)),
      host: url.slice('http://'.length),
    });
  });

  it('keeps the order of the query and escapes everything', async () => {
    const { url, seen } = await serve(OK);
    const client = remoteClient({ url: `${url}/base/`, oneShot });
    await client.call({ ...GET, params: { id: 'a/b?c#d é%' } });
    await client.call({ ...GET, params: { id: '..' } });
    const query = [
      ['id', 'a&b'],
      ['metadata.k=', 'v w'],
      ['id', '2'],
    ] as const;
    await client.call({ operation: 'listTokens', params: {}, query });
    await client.close();
    expect(seen.map((one) => one.url)).toEqual([
      '/base/tokens/a%2Fb%3Fc%23d%20%C3%A9%25',
      '/base/tokens/%2E%2E',
      '/base/tokens?id=a%26b&metadata.k%3D=v%20w&id=2',
    ]);
  });

  it('uses the header prefix, and sends no key that a header cannot hold', async () => {
    const { url, seen } = await serve((response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'abc-trace-id': 'trace-2', 'retry-after': '3' })
        .end('{}');
    });
    const client = remoteClient({ url, headerPrefix: 'ABC', oneShot });
    expect(await client.call(GET)).toEqual({ status: 200, bodyText: '{}', traceId: 'trace-2', retryAfter: 3 });
    await client.call({ ...GET, apiKey: 'a\nb' });
    await client.call({ ...GET, apiKey: undefined });
    await client.close();
    expect(seen.map((one) => one.headers['abc-api-key'])).toEqual(['key_1', undefined, undefined]);
    expect(seen[0]?.headers).not.toHaveProperty('content-type');
  });

  it('keeps its connection only for several calls', async () => {
    const ports = new Set<number | undefined>();
    const { url } = await serve((response) => {
      ports.add(response.socket?.remotePort);
      OK(response);
    });
    const client = remoteClient({ url, oneShot });
    for (let i = 0; i < 5; i++) await client.call(GET);
    await client.close();
    expect(ports.size).toBe(oneShot ? 5 : 1);
  });

  it('speaks HTTP/1.1, which proxies expect, and says whether it keeps its connection', async () => {
    const { url, seen } = await serve((response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      OK(response);
    });
    const client = remoteClient({ url, oneShot });
    expect(await client.call(GET)).toMatchObject({ status: 200, bodyText: '{"a":1.10}' });
    await client.close();
    const connection = oneShot ? 'close' : 'keep-alive';
    expect(seen).toMatchObject([{ version: '1.1', headers: { connection } }]);
  });

  it('reads an answer that comes before the server has read a long body', async () => {
    const body = JSON.stringify({ ...PROBLEM, status: 413 });
    const head = `HTTP/1.1 413 x\r\ncontent-type: application/problem+json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const server = createSocketServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(head + body, () => socket.destroy()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = remoteClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, oneShot });
    const bodyText = JSON.stringify('x'.repeat(4 << 20));
    expect(await client.call({ operation: 'createToken', params: {}, query: [], bodyText })).toMatchObject({
      status: 413,
    });
    await client.close();
    server.close();
  });

  it.skipIf(process.platform === 'win32')('connects to a Unix socket', async () => {
    const folder = temporaryFolder(onTestFinished);
    const { url, seen } = await serve(OK, path.join(folder, 'v.sock'));
    const client = remoteClient({ url, oneShot });
    expect(await client.call(GET)).toMatchObject({ status: 200 });
    await client.close();
    expect(seen[0]).toMatchObject({ url: '/tokens/tok', headers: { host: 'localhost' } });
  });

  it('returns problems and empty replies unchanged', async () => {
    const bodyText =
      '{"type":"urn:token-vault:problem:token_not_found","title":"Not Found","status":404,"detail":"x","instance":"t"}';
    const problem = await serve((response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end(bodyText);
    });
    const nothing = await serve((response) => {
      response.writeHead(204, { 'svc-trace-id': 't' }).end();
    });
    expect(await remoteClient({ url: problem.url, oneShot }).call(GET)).toEqual({ status: 404, bodyText, traceId: '' });
    expect(await remoteClient({ url: nothing.url, oneShot }).call(GET)).toEqual({ status: 204, traceId: 't' });
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
    const { url, seen } = await serve((response) => {
      response.writeHead(status, { 'content-type': type, location: '/elsewhere' }).end(body);
    });
    await expect(remoteClient({ url, oneShot }).call(GET)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('is not a vault'),
    });
    expect(seen).toHaveLength(1);
  });

  it('fails as unreachable when it breaks off, hangs or does not exist', async () => {
    const broken = await serve((response) => response.destroy());
    const half = await serve((response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '10' });
      response.write('{', () => response.destroy());
    });
    // Nothing declares the end of this body.
    const open = await serve((response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nsvc-trace-id: t\r\n\r\n{"a":');
    });
    const switching = await serve((response) => {
      response.socket?.write('HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    });
    const hanging = await serve(() => undefined);
    const unreachable = { code: 'unreachable' };
    await expect(remoteClient({ url: broken.url, oneShot }).call(GET)).rejects.toMatchObject(unreachable);
    await expect(remoteClient({ url: half.url, oneShot }).call(GET)).rejects.toMatchObject(unreachable);
    await expect(remoteClient({ url: open.url, oneShot }).call(GET)).rejects.toMatchObject(unreachable);
    await expect(remoteClient({ url: switching.url, oneShot }).call(GET)).rejects.toMatchObject(unreachable);
    await expect(remoteClient({ url: hanging.url, timeoutMs: 50, oneShot }).call(GET)).rejects.toThrow(
      'no answer within 50 ms',
    );
    const slow = await serve((response) => response.writeHead(200, { 'content-length': '10' }).write('{'));
    await expect(remoteClient({ url: slow.url, timeoutMs: 50, oneShot }).call(GET)).rejects.toThrow(
      'no answer within 50 ms',
    );
    await expect(remoteClient({ url: 'http://127.0.0.1:1', oneShot }).call(GET)).rejects.toThrow('ECONNREFUSED');
    await expect(remoteClient({ url: 'unix:/no/such.sock', oneShot }).call(GET)).rejects.toThrow('ENOENT');
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
