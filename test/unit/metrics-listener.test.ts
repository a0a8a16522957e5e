import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { listenForMetrics } from '../../src/http/metrics-listener.ts';

async function listen(host: string, read = async () => 'text') {
  const listener = await listenForMetrics({ host, port: 0 }, ['vault.test'], read);
  onTestFinished(() => listener.stop());
  return new URL(listener.url);
}

/** Resolves to the status of a request with this `Host`. */
function statusOf(port: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });
}

it.each([
  ['127.0.0.1', 'attacker.test:PORT', 421],
  ['127.0.0.1', 'localhost.attacker.test', 421],
  ['127.0.0.1', '127.0.0.1', 200],
  ['127.0.0.1', 'localhost:1', 200],
  ['127.0.0.1', '127.0.0.1:PORT', 200],
  ['127.0.0.1', 'localhost:PORT', 200],
  ['127.0.0.1', 'vault.test:PORT', 200],
  // Other machines reach this address by any name.
  ['0.0.0.0', 'prometheus.test:PORT', 200],
])('on %s, a request for %s gets %s', async (address, host, status) => {
  const { port } = await listen(address);
  expect(await statusOf(port, host.replace('PORT', port))).toBe(status);
});

it.each(['0.0.0.0', '::'])('the URL of a listener on %s is that of this machine', async (address) => {
  expect((await listen(address)).hostname).toBe('127.0.0.1');
});

it.each([
  ['GET', '/metrics', 200],
  ['HEAD', '/metrics', 200],
  ['POST', '/metrics', 404],
  ['GET', '/', 404],
  ['GET', '/metrics/x', 404],
])('%s %s gets %s', async (method, path, status) => {
  expect((await fetch(new URL(path, await listen('127.0.0.1')), { method })).status).toBe(status);
});

it('answers 503 if the metrics cannot be read', async () => {
  const url = await listen('127.0.0.1', () => Promise.reject(new Error('x')));
  expect((await fetch(url)).status).toBe(503);
});

it('reads the metrics once for requests that wait at the same time', async () => {
  let [running, most] = [0, 0];
  const url = await listen('127.0.0.1', async () => {
    running += 1;
    most = Math.max(most, running);
    await sleep(50);
    running -= 1;
    return 'text';
  });
  const texts = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(url)).text()));
  expect(new Set(texts)).toEqual(new Set(['text']));
  expect(most).toBe(1);
});
