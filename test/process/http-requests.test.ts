import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { daemonOptions, echoClient, flawsOfProblem, KEY, type RawOptions, raw, sleep } from './http-fixture.ts';

const client = echoClient();
let daemon: Daemon;
let port: number;

beforeAll(async () => {
  daemon = await startDaemon(
    client,
    daemonOptions({ timeouts: { headers: 600, request: 900, check: 100, linger: 300 } }),
  );
  port = daemon.port ?? 0;
});

afterAll(() => daemon.stop());

const AUTH = `SVC-API-KEY: ${KEY}\r\n`;
const host = () => `Host: 127.0.0.1:${port}\r\n`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${host()}${AUTH}${headers}\r\n`;
const post = (headers: string, body: string) =>
  `POST /tokens HTTP/1.1\r\n${host()}${AUTH}Content-Type: application/json\r\n${headers}\r\n${body}`;

const status = async (input: string | readonly string[], options?: RawOptions) =>
  (await raw(port, input, options)).responses.map((response) => response.status);

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

test('HEAD like GET, without the body', async () => {
  const asked = get('/tokens/one', 'SVC-TRACE-ID: t\r\n');
  const [whole] = (await raw(port, asked)).responses;
  const [head] = (await raw(port, asked.replace('GET', 'HEAD'), { head: true })).responses;
  expect(head?.status).toBe(200);
  expect(head?.headers.get('content-length')).toBe(String(whole?.body.length));
  const next = await raw(port, [asked.replace('GET', 'HEAD'), get('/livez')], { head: true, expect: 2 });
  expect(next.responses).toHaveLength(2);
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

test('a byte order mark stays in the text', async () => {
  const [response] = (await raw(port, post('Content-Length: 5\r\n', '\xef\xbb\xbf{}'))).responses;
  expect(JSON.parse(Buffer.from(response?.body ?? '', 'latin1').toString()).bodyText).toBe('\ufeff{}');
});

test('HTTP/1.0 closes the connection', async () => {
  const asked = `GET /tokens HTTP/1.0\r\n${host()}${AUTH}\r\n`;
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
