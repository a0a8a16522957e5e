import { once } from 'node:events';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import { APPLICATION_ID, daemonOptions, echoClient, flawsOfProblem, KEY, raw, sleep } from './http-fixture.ts';
import { AUTH, pool, start } from './http-harness.ts';

describe('a call', () => {
  test('matches the request', async () => {
    const { client, daemon } = await start();
    const reply = await pool(daemon).request({
      method: 'POST',
      path: '/tokens/?b=1&a=x+y%20z&b=%C3%A9&c&=d&&metadata.a%3Db=%26&e=f=g',
      headers: {
        ...AUTH,
        'content-type': 'application/json; charset=utf-8',
        'svc-trace-id': 'trace 1',
        'x-unknown': '?',
      },
      body: '{"data":1.10}',
    });
    expect(reply.statusCode).toBe(200);
    expect(client.calls).toEqual([
      {
        operation: 'createToken',
        apiKey: KEY,
        mediaType: 'application/json; charset=utf-8',
        params: {},
        query: [
          ['b', '1'],
          ['a', 'x y z'],
          ['b', 'é'],
          ['c', ''],
          ['', 'd'],
          ['metadata.a=b', '&'],
          ['e', 'f=g'],
        ],
        bodyText: '{"data":1.10}',
        onCaller: expect.any(Function),
        isAbandoned: expect.any(Function),
        traceId: 'trace 1',
      },
    ]);
    await reply.body.dump();
  });

  test('has any id that can be encoded as its parameter', async () => {
    const { client, daemon } = await start({ limits: { ...daemonOptions().limits, url: 4000, headers: 8000 } });
    const connection = pool(daemon, { connections: 1 });
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 60 }),
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
    );
    const separators = fc.constantFrom('%', '%25', '%2F', '/', '?', '#', ';', '+', '.', '..', '%252F', '\0');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(id, fc.constant('x'.repeat(300)), separators), { minLength: 1, maxLength: 4 }),
        async (parts) => {
          const text = parts.join('');
          fc.pre(!/\p{Surrogate}/u.test(text));
          const { statusCode, body } = await connection.request({
            method: 'GET',
            path: `/tokens/${encodeURIComponent(text)}`,
            headers: AUTH,
          });
          await body.dump();
          expect(statusCode).toBe(200);
          expect(client.calls.at(-1)?.params).toEqual({ id: text });
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('a response', () => {
  test('has the common headers and no others', async () => {
    const { port, get } = await start();
    const [response] = (await raw(port, get('/tokens'))).responses;
    expect([...(response?.headers.keys() ?? [])].sort()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'svc-trace-id',
      'x-content-type-options',
    ]);
    expect(response?.headers.get('content-type')).toBe('application/json');
    expect(response?.headers.get('keep-alive')).toBe('timeout=65');
  });

  test('of a deletion has neither body nor content type', async () => {
    const { port, get } = await start();
    const [response] = (await raw(port, get('/tokens/a').replace('GET', 'DELETE'))).responses;
    expect(response?.status).toBe(204);
    expect(response?.headers.has('content-type')).toBe(false);
    expect(response?.headers.has('content-length')).toBe(false);
    expect(response?.headers.get('connection')).toBe('keep-alive');
    expect(response?.headers.get('svc-trace-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['accepted', 'a'.repeat(200), true],
    ['too long', 'a'.repeat(201), false],
    ['empty', '', false],
    ['not printable', 'a\x80', false],
    ['with a tab', 'a\tb', false],
  ])('has a trace id: %s', async (_name, sent, taken) => {
    const { port, get } = await start();
    const headers = `SVC-TRACE-ID: ${sent}\r\n`;
    const traces = [];
    for (const path of ['/nowhere', '/tokens', '/livez']) {
      const [response] = (await raw(port, get(path, headers))).responses;
      if (path !== '/livez')
        expect(flawsOfProblem(response, path === '/tokens' ? 'unauthenticated' : 'route_not_found')).toEqual([]);
      traces.push(response?.headers.get('svc-trace-id') ?? '');
    }
    expect(traces.every((trace) => (trace === sent) === taken)).toBe(true);
    expect(new Set(traces).size).toBe(taken ? 1 : 3);
  });

  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = `00-${trace}-00f067aa0ba902b7-01`;
  test.each([
    ['alone', [`traceparent: ${parent}`], trace],
    ['in upper-case letters of the name', [`TraceParent: ${parent}`], trace],
    ['beside the own header', [`traceparent: ${parent}`, 'SVC-TRACE-ID: mine'], 'mine'],
    ['beside an invalid own header', [`traceparent: ${parent}`, 'SVC-TRACE-ID:'], trace],
    ['of a later version, longer', [`traceparent: cc${parent.slice(2)}-more`], trace],
    ['of a later version', [`traceparent: cc${parent.slice(2)}`], trace],
    ['of version ff', [`traceparent: ff${parent.slice(2)}`], undefined],
    ['longer than its version allows', [`traceparent: ${parent}-more`], undefined],
    ['in upper case', [`traceparent: ${parent.toUpperCase()}`], undefined],
    ['without flags', [`traceparent: ${parent.slice(0, -3)}`], undefined],
    ['with a trace of zeros', [`traceparent: ${parent.replace(trace, '0'.repeat(32))}`], undefined],
    ['with a parent of zeros', [`traceparent: ${parent.replace('00f067aa0ba902b7', '0'.repeat(16))}`], undefined],
    ['sent twice', [`traceparent: ${parent}`, `traceparent: ${parent}`], undefined],
    ['empty', ['traceparent:'], undefined],
  ])('takes the trace id of a traceparent %s', async (_name, sent, taken) => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const { port, get } = await start({ log: 'json' });
    const headers = `${sent.join('\r\n')}\r\n`;
    const [response] = (await raw(port, get('/tokens', headers))).responses;
    const id = response?.headers.get('svc-trace-id') ?? '';
    if (taken === undefined) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    else expect(id).toBe(taken);
    expect(JSON.parse(response?.body ?? '').instance).toBe(id);
    await vi.waitFor(() => expect(stderr.mock.calls.join('')).toContain(`"trace_id":"${id}"`));
  });

  test('to a call that crashes is a constant 500, and stderr gets only the kind of error', async () => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const { port, get } = await start();
    const [response] = (await raw(port, get('/tokens', 'SVC-API-KEY: crash\r\n'))).responses;
    expect(flawsOfProblem(response, 'internal_error')).toEqual([]);
    expect(stderr.mock.calls).toHaveLength(1);
    expect(JSON.parse(String(stderr.mock.calls[0]?.[0]))).toMatchObject({ level: 'error', error: 'TypeError' });
    expect(String(stderr.mock.calls[0]?.[0])).not.toContain('secret');
  });

  test('reaches a client that sends far too much', async () => {
    const { daemon } = await start({ timeouts: { linger: 300 } });
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    for (let i = 0; i < 10; i += 1) {
      const { statusCode, body: answer } = await pool(daemon).request({
        method: 'POST',
        path: '/tokens',
        headers: AUTH,
        body,
      });
      await answer.dump();
      expect(statusCode).toBe(413);
    }
  });
});

describe('probes', () => {
  test('list the notices of a ready vault', async () => {
    const notices = [['The clock is in doubt.'], []];
    const { port, get } = await start({ notices: async () => notices.shift() ?? [] });
    const bodies = [];
    for (let i = 0; i < 2; i += 1) bodies.push((await raw(port, get('/readyz', ''))).responses[0]?.body);
    expect(bodies).toEqual(['{"status":"ready","notices":["The clock is in doubt."]}', '{"status":"ready"}']);
  });

  test('report that the vault is not ready', async () => {
    const failures = [
      new Problem('vault_moved', { retryAfter: 7 }),
      new Problem('integrity_failure'),
      new Error('a secret'),
    ];
    const { port, get } = await start({ ready: () => Promise.reject(failures.shift()) });
    const responses = [];
    for (let i = 0; i < 3; i += 1) responses.push((await raw(port, get('/readyz', ''))).responses[0]);
    expect(flawsOfProblem(responses[0], 'vault_moved')).toEqual([]);
    expect(responses[0]?.headers.get('retry-after')).toBe('7');
    expect(flawsOfProblem(responses[1], 'vault_busy')).toEqual([]);
    expect(flawsOfProblem(responses[2], 'vault_busy')).toEqual([]);
    expect((await raw(port, get('/livez', ''))).responses[0]?.status).toBe(200);
  });
});

describe('hosts', () => {
  const hostNames = ['Vault.test', '*.example.com', '*.localhost', '10.1.2.3', 'fd00::0:1', 'bücher.example'];

  test.each([
    ['127.0.0.1', 200],
    ['localhost', 200],
    ['LocalHost', 200],
    ['localhost.', 200],
    ['[::1]', 200],
    ['[0:0:0:0:0:0:0:1]', 200],
    ['[::1%25lo]', 200],
    ['vault.test', 200],
    ['VAULT.TEST', 200],
    ['vault.test.', 200],
    ['a.example.com', 200],
    ['app.localhost', 200],
    ['10.1.2.3', 200],
    ['[fd00::1]', 200],
    ['[FD00:0::1]', 200],
    ['xn--bcher-kva.example', 200],
    ['example.com', 421],
    ['a.b.example.com', 421],
    ['.example.com', 421],
    ['a.example.com.evil.test', 421],
    ['aexample.com', 421],
    ['*.example.com', 400],
    ['vault.test..', 421],
    ['localhost.evil.test', 421],
    ['127.0.0.1.evil.test', 421],
    ['127.0.0.2', 421],
    ['0.0.0.0', 421],
    ['[::]', 421],
    ['[::ffff:127.0.0.1]', 421],
    ['10.1.2.4', 421],
    ['', 421],
    ['.', 421],
    ['127.0.0.1@evil.test', 400],
    ['evil.test#127.0.0.1', 400],
    ['evil.test/localhost', 400],
    ['[::1', 400],
    ['[1.2]', 400],
    ['localhost:1:2', 400],
  ])('%s → %i, with our port, another and none', async (host, status) => {
    const { port, get } = await start({ hostNames });
    for (const end of [`:${port}`, ':1', ':443', ':', '']) {
      const asked = get('/tokens').replace(`localhost:${port}`, `${host}${end}`);
      expect([end, (await raw(port, asked)).responses[0]?.status]).toEqual([end, status]);
    }
  });

  test.each([
    ['evil.test:80', 'evil.test'],
    ['EVIL.test', 'evil.test'],
    ['[fd00::2]:8484', '[fd00::2]'],
  ])('the problem of %s names the host and the flag', async (host, named) => {
    const { port, get } = await start();
    const [response] = (await raw(port, get('/tokens').replace(`localhost:${port}`, host))).responses;
    expect(flawsOfProblem(response, 'wrong_host')).toEqual([]);
    expect(JSON.parse(response?.body ?? '').detail).toBe(
      `This server does not serve the host ${named}; \`vault serve --host-name ${named}\` adds it.`,
    );
  });

  test.each(['.', 'localhost..', '--help', '2130706433'])(
    'the problem of %s names no flag that refuses it',
    async (host) => {
      const { port, get } = await start();
      const [response] = (await raw(port, get('/tokens').replace(`localhost:${port}`, host))).responses;
      expect(JSON.parse(response?.body ?? '').detail).toBe(`This server does not serve the host ${host}.`);
    },
  );

  test('the problem of a very long host is short, and that of no host says so', async () => {
    const { port, get } = await start({ limits: { ...daemonOptions().limits, headers: 8000 } });
    const details = [];
    for (const host of ['a'.repeat(7_000), '']) {
      const [response] = (await raw(port, get('/tokens').replace(`localhost:${port}`, host))).responses;
      details.push(JSON.parse(response?.body ?? '').detail);
    }
    expect([details[0].length < 700, details[1]]).toEqual([true, 'The request names no host.']);
  });

  test.each([
    ['http://127.0.0.1:9/tokens?a=b', '/tokens?a=b', 200],
    ['HTTP://Vault.Test/tokens', '/tokens', 200],
    ['https://vault.test:443/tokens', '/tokens', 200],
    ['http://[::1]/tokens', '/tokens', 200],
    ['http://vault.test?a=b', '/', 200],
    ['http://vault.test', '/', 200],
    ['http://evil.test/tokens', '', 421],
    ['http://vault.test.evil.test/tokens', '', 421],
  ])('absolute-form %s is judged by its own authority', async (target, path, status) => {
    const { client, port } = await start({ hostNames });
    for (const host of ['evil.test', 'localhost']) {
      const { responses } = await raw(port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nSVC-API-KEY: ${KEY}\r\n\r\n`);
      expect(responses[0]?.status).toBe(status);
    }
    if (path.startsWith('/tokens')) expect(client.calls).toHaveLength(2);
    if (path.includes('?')) expect(client.calls[0]?.query ?? [['a', 'b']]).toEqual([['a', 'b']]);
  });

  test('probes answer any Host, but show it the status alone', async () => {
    const failures = [undefined, undefined, new Problem('disk_error', { detail: 'secret', retryAfter: 7 })];
    const ready = async () => {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
    };
    const { port, get } = await start({ ready, notices: async () => ['The clock is in doubt.'] });
    const ask = async (path: string, host: string) => {
      const { responses } = await raw(port, get(path, '').replace(`localhost:${port}`, host));
      return [responses[0]?.status, JSON.parse(responses[0]?.body ?? '')];
    };
    expect(await ask('/livez', '10.1.2.3:8484')).toEqual([200, { status: 'live' }]);
    expect(await ask('/livez', '127.0.0.1')).toEqual([200, { status: 'live', version: '0.0.0' }]);
    expect(await ask('/readyz/?a', 'evil.test')).toEqual([200, { status: 'ready' }]);
    expect(await ask('/readyz', 'localhost')).toEqual([200, { status: 'ready', notices: ['The clock is in doubt.'] }]);
    expect(await ask('/readyz', 'evil.test')).toEqual([
      503,
      expect.objectContaining({ type: expect.stringMatching(/:vault_busy$/), detail: 'The vault is busy; try again.' }),
    ]);
    const old = await raw(port, 'GET /livez HTTP/1.0\r\n\r\n');
    expect(old.responses[0]?.body).toBe('{"status":"live"}');
    for (const path of ['/', '/openapi.json', '/livez/x', '/readyzz', '//livez', '/x?/livez', '/%6civez']) {
      expect([path, (await ask(path, 'evil.test'))[0]]).toEqual([path, 421]);
    }
  });

  test('an address that is not loopback needs an option', async () => {
    for (const host of ['0.0.0.0', '127.0.0.1.example', 'localhost.example']) {
      const started = startDaemon(echoClient(), daemonOptions({ host }));
      await expect(started).rejects.toThrow(`${host} is not a loopback address`);
    }
    const { port, get } = await start({ host: '0.0.0.0', allowInsecureHost: true });
    expect((await raw(port, get('/tokens'))).responses[0]?.status).toBe(200);
    const foreign = get('/tokens').replace('localhost', '0.0.0.0');
    expect((await raw(port, foreign)).responses[0]?.status).toBe(421);
  });

  test.each(['0.0.0.0', '::', '0'])('the URL of a daemon on %s is that of this machine', async (host) => {
    const { daemon, port } = await start({ host, allowInsecureHost: true });
    expect(daemon.url).toBe(`http://127.0.0.1:${port}`);
    expect((await fetch(`${daemon.url}/livez`)).status).toBe(200);
  });
});

test('20 failed authentications at once, then 429 for the peer, and 20 more in each second', async () => {
  const { client, port, get } = await start();
  const wrong = get('/tokens', 'SVC-API-KEY: wrong\r\n');
  const { responses } = await raw(port, wrong.repeat(90), { expect: 90 });
  const statuses = responses.map(({ status }) => status);
  expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
  expect(statuses.filter((status) => status === 401).length).toBeLessThan(60);
  const refused = responses[statuses.indexOf(429)];
  expect(flawsOfProblem(refused, 'too_many_requests')).toEqual([]);
  expect(client.calls).toHaveLength(90);
  // A good key still works, so that no local process can lock others out.
  expect((await raw(port, get('/tokens'))).responses[0]?.status).toBe(200);
  expect((await raw(port, get('/livez'))).responses[0]?.status).toBe(200);
  await sleep(1_050);
  expect((await raw(port, wrong)).responses[0]?.status).toBe(401);
});

test('the log has one line a request, with allowed members only', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const { port, get } = await start({ log: 'json' });
  const trace = `SVC-API-KEY: ${KEY}\r\nSVC-TRACE-ID: t1\r\n`;
  const sent = [
    await raw(port, get('/tokens/a-secret-id?type=a-secret-type', trace)),
    await raw(port, get('/a-secret-path', trace)),
    await raw(port, 'A SECRET LINE\r\n\r\n'),
    await raw(port, get('/readyz', trace)),
  ];
  const lines = stderr.mock.calls.map(([text]) => String(text));
  expect(lines.every((line) => line.endsWith('}\n'))).toBe(true);
  expect(lines.join('')).not.toMatch(/secret|good/i);
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries.map(({ status, method, route }) => [status, method, route])).toEqual([
    [200, 'GET', '/tokens/{id}'],
    [404, 'GET', undefined],
    [400, undefined, undefined],
    [200, 'GET', '/readyz'],
  ]);
  const members = [
    ...['time', 'level', 'trace_id', 'peer', 'method', 'route', 'operation', 'status'],
    ...['application_id', 'ms', 'bytes'],
  ];
  expect(Object.keys(entries[0])).toEqual(members);
  expect(entries.map((entry) => entry.application_id)).toEqual([APPLICATION_ID, undefined, undefined, undefined]);
  expect(entries[0].trace_id).toBe('t1');
  const bodies = sent.flatMap(({ responses }) => responses.map(({ body }) => body));
  expect(entries.map(({ bytes }) => bytes)).toEqual(bodies.map((body) => Buffer.byteLength(body)));
});

test('the log has the address of a client that has gone', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const { port, get } = await start({ log: 'json' });
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(get('/nowhere'));
  socket.resetAndDestroy();
  const peers = () =>
    stderr.mock.calls.flatMap(([text]) => String(text).trim().split('\n')).map((line) => JSON.parse(line).peer);
  await vi.waitFor(() => expect([...new Set(peers())]).toEqual(['127.0.0.1']), 5_000);
});
