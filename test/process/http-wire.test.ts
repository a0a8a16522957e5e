import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { daemonOptions, echoClient, flawsOfProblem, KEY, type RawOptions, raw, sleep } from './http-fixture.ts';
import { refusedRequests, requestTexts } from './refused-requests.ts';

const client = echoClient();
let daemon: Daemon;
let port: number;

beforeAll(async () => {
  // Short timeouts keep the table below fast.
  daemon = await startDaemon(
    client,
    daemonOptions({ timeouts: { headers: 600, request: 900, check: 100, linger: 300 } }),
  );
  port = daemon.port ?? 0;
});

afterAll(() => daemon.stop());

const { auth, host, get, post } = requestTexts(() => port, KEY);
const REFUSED = refusedRequests(() => port, KEY);

const status = async (input: string | readonly string[], options?: RawOptions) =>
  (await raw(port, input, options)).responses.map((response) => response.status);

describe('rejected requests', () => {
  test.each(REFUSED)('$name', async ({ input, code, allow, closes, options }) => {
    const sent = input();
    const first = await raw(port, sent, { ...options, untilClosed: closes });
    expect(first.responses).toHaveLength(1);
    expect(flawsOfProblem(first.responses[0], code)).toEqual([]);
    expect(first.responses[0]?.headers.get('allow')).toBe(allow);
    expect(first.responses[0]?.headers.get('connection')).toBe(closes ? 'close' : 'keep-alive');
    if (closes) {
      expect(first.closed).toBe(true);
      return;
    }
    // The connection still works for another request.
    const pieces = typeof sent === 'string' || Buffer.isBuffer(sent) ? [sent] : sent;
    const again = await raw(port, [...pieces, get('/livez')], { expect: 2 });
    expect(again.responses.map(({ status }) => status)).toEqual([first.responses[0]?.status, 200]);
  });
});

describe('answers', () => {
  test('two pipelined requests, in order', async () => {
    const { responses } = await raw(port, get('/tokens/one') + get('/tokens/two'), { expect: 2 });
    expect(responses.map(({ body }) => JSON.parse(body).params.id)).toEqual(['one', 'two']);
  });

  test('a request before pipelined garbage is answered, and so is the garbage', async () => {
    const { responses, closed } = await raw(port, `${get('/tokens/one')}GARBAGE\r\n\r\n`, { untilClosed: true });
    expect(responses.map((response) => response.status)).toEqual([200, 400]);
    expect(JSON.parse(responses[0]?.body ?? '').params.id).toBe('one');
    expect(flawsOfProblem(responses[1], 'malformed_http')).toEqual([]);
    expect(closed).toBe(true);
  });

  test('a client that closes its sending side', async () => {
    // Answer only after the close of the sending side has arrived.
    client.gate = sleep(50);
    const { responses, closed } = await raw(port, get('/tokens/one'), { halfClose: true, untilClosed: true });
    client.gate = undefined;
    expect(responses.map((response) => response.status)).toEqual([200]);
    expect(closed).toBe(true);
  });

  test('an upgrade is ignored, and the request gets its usual answer', async () => {
    const [response] = (await raw(port, get('/tokens/one', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'))).responses;
    expect(response?.status).toBe(200);
    expect(response?.headers.has('upgrade')).toBe(false);
  });

  test('Expect: 100-continue, also for requests that are rejected', async () => {
    const expecting = 'Expect: 100-continue\r\n';
    const kept = await raw(port, [post(`${expecting}Content-Length: 2\r\n`, ''), '{}', get('/livez')], { expect: 2 });
    expect(kept.responses.map((response) => response.status)).toEqual([200, 200]);
    expect(JSON.parse(kept.responses[0]?.body ?? '').bodyText).toBe('{}');
    const refused = await raw(port, post(`${expecting}Content-Length: 2000\r\n`, ''), { untilClosed: true });
    expect(flawsOfProblem(refused.responses[0], 'body_too_large')).toEqual([]);
    const lost = get('/nowhere', `${expecting}Content-Length: 2\r\n`);
    expect((await raw(port, lost, { untilClosed: true })).responses.map((response) => response.status)).toEqual([404]);
    expect(await status(get('/tokens/one', 'Expect: miracles\r\n'))).toEqual([200]);
  });

  test('a body in drips and chunks', async () => {
    const drips = [
      post('Transfer-Encoding: chunked\r\n', '1\r\n{\r\n'),
      '3\r\n"\xc3',
      '\xa9\r\n2\r\n":\r\n2\r\n1}\r\n0\r\n\r\n',
    ];
    const [response] = (await raw(port, drips)).responses;
    expect(JSON.parse(Buffer.from(response?.body ?? '', 'latin1').toString()).bodyText).toBe('{"é":1}');
  });

  test('HTTP/1.0 closes the connection', async () => {
    const asked = `GET /tokens HTTP/1.0\r\n${host()}${auth}\r\n`;
    const { responses, closed } = await raw(port, asked, { untilClosed: true });
    expect(responses.map((response) => response.status)).toEqual([200]);
    expect(closed).toBe(true);
  });

  test('a client that disconnects during its body makes no call', async () => {
    const before = client.calls.length;
    await raw(port, post('Content-Length: 10\r\n', '{'), { abortAfter: 50 });
    expect(await status(get('/livez'))).toEqual([200]);
    expect(client.calls.length).toBe(before);
  });

  test('a silent connection is closed without a response', async () => {
    const { responses, closed, ms } = await raw(port, [], { untilClosed: true });
    expect(responses).toEqual([]);
    expect(closed).toBe(true);
    expect(ms).toBeLessThan(1_500);
  });
});

describe('afterwards', () => {
  test('connections that clients cut do not leak', async () => {
    const spare = await startDaemon(client, daemonOptions());
    for (const { input } of REFUSED) await raw(spare.port ?? 0, input(), { abortAfter: 0 });
    const start = performance.now();
    await spare.stop();
    // stop() waits for every connection. A leaked one would delay it until the deadline of 9 s.
    expect(performance.now() - start).toBeLessThan(6_000);
  });

  test('the daemon still answers, and holds no connection', async () => {
    const { responses } = await raw(port, get('/livez', 'Connection: close\r\n'), { untilClosed: true });
    expect(responses.map((response) => response.status)).toEqual([200]);
    const start = performance.now();
    await daemon.stop();
    expect(performance.now() - start).toBeLessThan(6_000);
  });
});
