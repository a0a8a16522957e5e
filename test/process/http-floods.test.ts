import { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { Client } from '../../src/contract/call.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import { daemonOptions, flawsOfProblem, KEY, type RawResponse, raw, sleep } from './http-fixture.ts';
import { shut, start, undo } from './http-harness.ts';

const MIB = 1024 * 1024;
const statuses = (responses: readonly RawResponse[]) => responses.map(({ status }) => status);
const POST = (port: number, headers: string, body = '', key = KEY) =>
  `POST /tokens HTTP/1.1\r\nHost: localhost:${port}\r\nSVC-API-KEY: ${key}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;

/** Starts a daemon with replies of `bytes` characters. `/tokens/short` has a short reply. */
async function startLarge(bytes: number) {
  const asked: string[] = [];
  const client: Client = {
    async call({ params, traceId = '' }) {
      asked.push(String(params['id']));
      return { status: 200, bodyText: 'x'.repeat(params['id'] === 'short' ? 10 : bytes), traceId };
    },
    close: async () => undefined,
  };
  const daemon = await startDaemon(client, daemonOptions());
  undo.push(() => daemon.stop());
  const port = daemon.port ?? 0;
  const get = (id: string) => `GET /tokens/${id} HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`;
  return { asked, port, get };
}

/** Opens a connection that sends text and does not read. */
function unread(port: number, text: string) {
  const socket = connect({ port, host: '127.0.0.1' }).pause();
  socket.on('error', () => undefined);
  socket.write(text);
  undo.push(() => socket.destroy());
  return socket;
}

describe('a connection', () => {
  test('runs one request at a time, however many are pipelined', async () => {
    const { client, port, get } = await start();
    const open = shut(client);
    const ids = Array.from({ length: 101 }, (_, n) => `t${n}`);
    const asked = raw(port, ids.map((id) => get(`/tokens/${id}`)).join(''), { expect: ids.length });
    await vi.waitFor(() => expect(client.calls).toHaveLength(1), 5_000);
    await sleep(50);
    expect(client.calls).toHaveLength(1);
    open();
    const { responses } = await asked;
    expect(responses.map(({ body }) => JSON.parse(body).params.id)).toEqual(ids);
  });

  test('is cut off when more than a hundred wait', async () => {
    const { client, port, get } = await start();
    client.gate = new Promise(() => undefined);
    const { responses, closed } = await raw(port, get('/tokens/one').repeat(102), { untilClosed: true });
    expect([responses, closed]).toEqual([[], true]);
    expect(client.calls).toHaveLength(1);
  });

  test('is seen to end while requests wait', async () => {
    const { client, port, get } = await start();
    const open = shut(client);
    undo.push(open);
    const socket = unread(port, get('/tokens/one').repeat(8));
    await vi.waitFor(() => expect(client.calls[0]?.isAbandoned?.()).toBe(false), 5_000);
    socket.destroy();
    await vi.waitFor(() => expect(client.calls[0]?.isAbandoned?.()).toBe(true), 5_000);
  });

  test('runs no request after its last response', async () => {
    const { client, port, get } = await start();
    const last = get('/tokens/last', `SVC-API-KEY: ${KEY}\r\nConnection: close\r\n`);
    const { responses } = await raw(port, last + get('/tokens/never'), { untilClosed: true });
    expect(statuses(responses)).toEqual([200]);
    expect(client.calls.map(({ params }) => params['id'])).toEqual(['last']);
  });

  test('accepts bodies between pipelined requests', async () => {
    const { port, get } = await start();
    const post = POST(port, 'Content-Length: 2\r\n', '{}');
    const half = POST(port, 'Content-Length: 4\r\n', '{ ');
    const { responses } = await raw(port, [get('/tokens/a') + post + get('/tokens/b') + half, ' }'], { expect: 4 });
    expect(responses.map(({ body }) => JSON.parse(body).bodyText)).toEqual([undefined, '{}', undefined, '{  }']);
  });

  test('creates no further reply for a client that does not read', async () => {
    const { asked, port, get } = await startLarge(16 * MIB);
    const socket = unread(port, get('a') + get('b') + get('c'));
    await vi.waitFor(() => expect(asked).toEqual(['a']), 5_000);
    await sleep(200);
    expect(asked).toEqual(['a']);
    socket.resume();
    await vi.waitFor(() => expect(asked).toEqual(['a', 'b', 'c']), 5_000);
  });
});

describe('a body', () => {
  const LIMITS = { ...DEFAULT_LIMITS, body: MIB };

  test('is not awaited when the key is invalid', async () => {
    const { port, get } = await start();
    const head = POST(port, 'Content-Length: 2\r\n', '', 'bad');
    const { responses, ms } = await raw(port, head);
    expect(flawsOfProblem(responses[0], 'unauthenticated')).toEqual([]);
    expect(ms).toBeLessThan(1_000);
    // The daemon discards a short body and keeps the connection.
    const again = await raw(port, [head, '{}', get('/livez')], { expect: 2 });
    expect(statuses(again.responses)).toEqual([401, 200]);
  });

  test('is not requested when the key is invalid', async () => {
    const { port } = await start();
    const asked = vi.spyOn(ServerResponse.prototype, 'writeContinue');
    const expecting = (key: string) => POST(port, 'Expect: 100-continue\r\nContent-Length: 2\r\n', '', key);
    const refused = await raw(port, expecting('bad'), { untilClosed: true });
    expect(statuses(refused.responses)).toEqual([401]);
    expect(asked).not.toHaveBeenCalled();
    expect(statuses((await raw(port, [expecting(KEY), '{}'])).responses)).toEqual([200]);
    expect(asked).toHaveBeenCalledOnce();
  });

  test.each([
    ['of 64 KiB keeps the connection', 64 * 1024, 'keep-alive'],
    ['of more closes it', 64 * 1024 + 1, 'close'],
  ])('that is not read, %s', async (_what, length, connection) => {
    const { port } = await start({ limits: LIMITS, timeouts: { linger: 100 } });
    const [response] = (await raw(port, POST(port, `Content-Length: ${length}\r\n`, '{', 'bad'))).responses;
    expect([response?.status, response?.headers.get('connection')]).toEqual([401, connection]);
  });

  test('that arrives too slowly is rejected with 408', async () => {
    const { port } = await start({ limits: LIMITS, timeouts: { linger: 100 } });
    const { responses } = await raw(port, POST(port, `Content-Length: ${MIB}\r\n`, '"x'), { untilClosed: true });
    expect(flawsOfProblem(responses[0], 'request_timeout')).toEqual([]);
  });
});

describe('a large body', () => {
  const BODY = '"'.padEnd(MIB - 1, 'x');
  /** The space for large bodies, which one of them may take. */
  const SPACE = 8 * MIB;
  const LIMITS = { ...DEFAULT_LIMITS, body: SPACE };

  test('waits while others hold all the space, and is read when they are gone', async () => {
    const { client, port } = await start({ limits: LIMITS, timeouts: { linger: 100 } });
    const held = unread(port, POST(port, `Content-Length: ${SPACE}\r\n`) + BODY);
    await sleep(500);
    const asked = raw(port, `${POST(port, `Content-Length: ${MIB}\r\n`)}${BODY}"`);
    await sleep(200);
    expect(client.calls).toEqual([]);
    held.destroy();
    expect(statuses((await asked).responses)).toEqual([200]);
  });

  test('may be chunked, and is read even if it follows another request', async () => {
    const { port, get } = await start({ limits: LIMITS });
    const chunk = `${(MIB / 2).toString(16)}\r\n${'x'.repeat(MIB / 2)}\r\n`;
    const post = `${POST(port, 'Transfer-Encoding: chunked\r\n')}${chunk}`;
    const { responses } = await raw(port, [get('/tokens/a') + post, `${chunk}0\r\n\r\n`], { expect: 2 });
    expect(responses.map(({ body }) => JSON.parse(body).bodyText?.length)).toEqual([undefined, MIB]);
  });

  test('of many connections does not delay others, and all are answered', async () => {
    const { port, get } = await start({ limits: LIMITS, timeouts: { linger: 100 } });
    const head = POST(port, `Content-Length: ${MIB}\r\n`, '', 'bad');
    const asked = Array.from({ length: 100 }, () => raw(port, head + BODY, { untilClosed: true }));
    const small = Array.from({ length: 20 }, () => raw(port, get('/tokens/a')));
    expect((await Promise.all(small)).flatMap(({ responses }) => statuses(responses))).toEqual(Array(20).fill(200));
    const replies = (await Promise.all(asked)).flatMap(({ responses }) => statuses(responses));
    expect(new Set(replies)).toEqual(new Set([401, 429]));
    expect(replies).toHaveLength(100);
  });
});
