import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createQuota } from '../../src/core/quota.ts';
import { readBody } from '../../src/http/read-body.ts';
import { fakeableTimers } from '../fakeable-timers.ts';

fakeableTimers();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function requestOf(length?: number) {
  const request = new IncomingMessage(new Socket());
  if (length === undefined) request.headers['transfer-encoding'] = 'chunked';
  else request.headers['content-length'] = String(length);
  return { request, response: new ServerResponse(request) };
}

it('a body waits until its account has room', async () => {
  const { request, response } = requestOf(2);
  request.push('{}');
  request.push(null);
  request.complete = true;
  const bodies = createQuota({ each: 10, all: 100 });
  void bodies.take('a', 10);
  const options = { limit: 10, bodies, account: 'a' };
  const late = Promise.resolve(readBody(request, response, options)).catch((error) => error.code);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await late).toBe('vault_busy');
  const soon = readBody(request, response, options);
  bodies.giveBack('a', 10);
  expect(await soon).toEqual({ bodyText: '{}' });
  response.emit('close');
  expect(bodies.take('a', 10)).toBeUndefined();
});

it.each([
  ['a slow body', 15 * 1024, 'request_timeout'],
  ['a faster body', 32 * 1024, 'read'],
])('%s: %s bytes a second: %s', async (_what, rate, outcome) => {
  const length = 10 * rate;
  const { request, response } = requestOf(length);
  const reading = readBody(request, response, { limit: length, bodies: createQuota({ each: length, all: length }) });
  const ended = Promise.resolve(reading).then(
    () => 'read',
    (error) => error.code,
  );
  for (let second = 0; second < 10; second += 1) {
    request.push('x'.repeat(rate));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  request.push(null);
  expect(await ended).toBe(outcome);
});

it.each([true, false])('a chunked body that has arrived counts its own bytes (complete: %s)', async (isComplete) => {
  const { request, response } = requestOf();
  const bodies = createQuota({ each: 10, all: 100 });
  request.complete = isComplete;
  if (isComplete) for (const chunk of ['{}', null]) request.push(chunk);
  const reading = readBody(request, response, { limit: 10, bodies, account: 'a' });
  if (!isComplete) {
    expect(bodies.take('a', 1)).toBeInstanceOf(Promise);
    for (const chunk of ['{}', null]) request.push(chunk);
  }
  expect(await reading).toEqual({ bodyText: '{}' });
  if (!isComplete) bodies.giveBack('a', 1);
  expect(bodies.take('a', 8)).toBeUndefined();
  response.emit('close');
  expect(bodies.take('a', 2)).toBeUndefined();
  expect(bodies.take('a', 1)).toBeInstanceOf(Promise);
});

it('a body that arrived while the process was busy is not slow', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { request, response } = requestOf(2);
  const reading = readBody(request, response, { limit: 2, bodies: createQuota({ each: 2, all: 2 }) });
  for (const chunk of ['{}', null]) request.push(chunk);
  // The timer is due before the event loop reads the body.
  vi.advanceTimersByTime(2_000);
  expect(await reading).toEqual({ bodyText: '{}' });
});
