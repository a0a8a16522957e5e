import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { daemonOptions, echoClient, flawsOfProblem, KEY, raw } from './http-fixture.ts';
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

const { get } = requestTexts(() => port, KEY);
const REFUSED = refusedRequests(() => port, KEY);

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
