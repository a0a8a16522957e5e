import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Call, Reply } from '../../src/contract/call.ts';
import { Problem, problemReply } from '../../src/core/problem.ts';
import { parseDevBody } from '../../src/http/dev-body.ts';
import { createDevRequests } from '../../src/http/dev-requests.ts';

/** Sends a request for the clock from an address to a vault that returns `asked` for every call. */
async function ask(address: string | undefined, asked: Reply = { status: 200, bodyText: '{}', traceId: 't' }) {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: address });
  const request = Object.assign(new IncomingMessage(socket), { method: 'GET', url: '/dev/clock?x', headers: {} });
  const calls: Call[] = [];
  const { promise, resolve } = Promise.withResolvers<Reply | 'next'>();
  const nothing = async () => 0;
  const unused = async () => ({});
  const requests = createDevRequests({
    controls: {
      clock: {
        ...{ now: () => 0, offset: () => 5, nextExpiry: async () => undefined },
        ...{ set: nothing, advance: nothing, reset: nothing },
      },
      snapshots: { list: async () => [], save: unused, load: unused, delete: async () => undefined },
    },
    client: {
      call: async (call) => {
        calls.push(call);
        return asked;
      },
      close: async () => undefined,
    },
    keyHeader: 'svc-api-key',
    traceIdOf: () => 't',
    isFromBrowser: () => true,
    answer: (_response, reply) => resolve(reply),
  });
  requests.take(request, new ServerResponse(request), () => resolve('next'));
  return { outcome: await promise, calls };
}

it.each(['[]', '1', 'null', '"x"'])('a body of the dev controls is no %s', (text) => {
  expect(() => parseDevBody(text)).toThrow('The body must be a JSON object.');
});

describe('the paths of a --dev daemon', () => {
  it.each(['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1', ''])('answer %s', async (address) => {
    const { outcome } = await ask(address);
    expect(outcome).toMatchObject({ status: 200, bodyText: '{"now":"1970-01-01T00:00:00.000+00:00","offset_ms":5}' });
  });

  it.each(['10.0.0.1', '::ffff:10.0.0.1', 'fe80::1', '192.168.127.0', undefined])(
    'do not exist for %s',
    async (address) => {
      expect(await ask(address)).toEqual({ outcome: 'next', calls: [] });
    },
  );

  it('authenticate like an operation for management keys, also for a web page', async () => {
    const refused = problemReply(new Problem('origin_refused'), 't');
    const { outcome, calls } = await ask('::1', refused);
    expect(outcome).toEqual(refused);
    expect(calls).toMatchObject([{ operation: 'getTenant', fromBrowser: true }]);
  });
});
