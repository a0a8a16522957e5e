import { once as event } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { againstBare } from '../../bench/against-bare.ts';
import { line, median, percentile, rounded, sample } from '../../bench/figures.ts';
import { inTurn, load, requestBytes } from '../../bench/load.ts';

const seen: string[] = [];

/** Answers in two pieces, as a network may split a response. /slow waits. */
const server = createServer((request, response) => {
  // The first request of each connection is not measured.
  if (request.url !== '/livez') seen.push(request.url ?? '');
  const body = JSON.stringify({ text: 'é'.repeat(40) });
  response.writeHead(request.url === '/gone' ? 404 : 200, { 'content-length': Buffer.byteLength(body) });
  setTimeout(
    () => {
      response.write(body.slice(0, 10));
      setTimeout(() => response.end(body.slice(10)), 1);
    },
    request.url === '/slow' ? 100 : 0,
  );
});
let port = 0;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await event(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.close();
});

const PARTS = { vault: {}, rawCopy: undefined, warmUp: undefined };
const daemon = () => ({ port, pid: process.pid, stderr: () => '' });

const get = (path: string) => requestBytes({ method: 'GET', path, body: undefined }, '127.0.0.1');

describe('the load generator', () => {
  it('sends each request once and counts the answers', async () => {
    seen.length = 0;
    const requests = Array.from({ length: 50 }, (_, n) => get(`/${n}`));
    const done = await load({ port, connections: 4, next: inTurn(requests, { most: 50 }), expected: 200 });
    expect(done.count).toBe(50);
    expect(done.times).toHaveLength(50);
    expect(seen.toSorted()).toEqual(Array.from({ length: 50 }, (_, n) => `/${n}`).toSorted());
  });

  it('throws when a status is not expected', async () => {
    const next = inTurn([get('/'), get('/gone')]);
    await expect(load({ port, connections: 1, next, expected: 200 })).rejects.toThrow('answered 404 instead of 200');
    const both = await load({ port, connections: 1, seconds: 0.1, next, expected: [200, 404] });
    expect(both.count).toBeGreaterThan(1);
  });
});

describe('a case beside the bare server', () => {
  it('reports a slower server, while the bare one answers the same bytes', async () => {
    const row = { case: 'slow', requests: () => [get('/slow')] };
    const figures = await againstBare(row, { ...PARTS, daemon: daemon(), rounds: 1, seconds: 0.4 });
    expect(figures.ratio).toBeLessThan(0.8);
    expect(figures.p50_ms).toBeGreaterThan(99);
    expect(figures.raw.ratio).toBeNaN();
  });

  it('rejects a case whose answer is not the expected one', async () => {
    const row = { case: 'gone', requests: () => [get('/gone')] };
    const parts = { ...PARTS, daemon: daemon(), rounds: 1, seconds: 0.1 };
    await expect(againstBare(row, parts)).rejects.toThrow('gone: 404');
  });
});

describe('figures', () => {
  it('has the middle, the tail and three digits', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect([0.43219, 12_345.6, 99.96].map(rounded)).toEqual([0.432, 12_346, 100]);
  });

  it('reports whether a line reaches its target, in either direction', () => {
    expect(line('http', 'get', { ratio: 0.5, target: 0.55 })).toMatchObject({ better: 'higher', reached: false });
    expect(line('startup', 'help', { ratio: 1.2, better: 'lower', target: 1.35 })).toMatchObject({ reached: true });
    expect(line('growth', 'memory', { ratio: undefined, target: undefined, mb: 12.345, note: undefined })).toEqual({
      bench: 'growth',
      case: 'memory',
      mb: 12.3,
    });
  });

  it('samples evenly, each value once', () => {
    const values = Array.from({ length: 1000 }, (_, n) => n);
    const some = sample(values, 10).toSorted((a: number, b: number) => a - b);
    expect(some).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    expect(sample([1, 2], 10)).toHaveLength(2);
  });
});
