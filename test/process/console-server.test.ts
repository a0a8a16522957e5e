import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { remoteClient } from '../../src/client/remote.ts';
import { type ConsoleOptions, createConsole } from '../../src/console/console.ts';
import type { Call, Client, Reply } from '../../src/contract/call.ts';
import { Problem, problemReply } from '../../src/core/problem.ts';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { daemonOptions, raw } from './http-fixture.ts';

// Tests the server half of the console over raw HTTP: every row of §5.3 of its design, and its two secrets.

const MINUTE = 60_000;
const CODE = 'the code of the link';

let world: TestVault;
let writer: string;
let now: number;
const daemons: Daemon[] = [];

beforeEach(async () => {
  now = 0;
  world = await openTestVault('console');
  const permissions = ['token:create', 'token:read', 'token:delete'];
  const rule = { description: '', priority: 1, container: '/', transform: 'reveal', permissions };
  writer = await world.application({ name: 'writer', type: 'private', rules: [rule] });
});
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
});

const keysOf = (...apiKeys: readonly string[]) => apiKeys.map((apiKey, n) => ({ apiKey, source: `key ${n}` }));

async function serve(options: Partial<ConsoleOptions> = {}, more: { readonly isConsoleOnly?: true } = {}) {
  const daemon = await startDaemon(
    world.client,
    daemonOptions({
      limits: world.vault.limits,
      ...more,
      console: async (context) =>
        createConsole(
          {
            client: world.client,
            apiKeys: keysOf(world.management, writer),
            about: { header_prefix: 'SVC', commands: { console: 'vault ui' } },
            secure: false,
            code: { text: CODE, life: 'always', madeAt: 0 },
            idleMs: 15 * MINUTE,
            lifeMs: 8 * 60 * MINUTE,
            now: () => now,
            ...options,
          },
          context,
        ),
    }),
  );
  daemons.push(daemon);
  return site(daemon.port ?? 0);
}

/** Serves the console, with a session of its own. */
async function opened(options: Partial<ConsoleOptions> = {}) {
  const served = await serve(options);
  return { ...served, fields: await served.open() };
}

type Fields = Readonly<Record<string, string | undefined>>;

/** Returns functions that send requests as a page of the daemon at `port` does. An undefined field is left out. */
function site(port: number) {
  const origin = `http://127.0.0.1:${port}`;
  const own = { Host: `127.0.0.1:${port}`, Origin: origin, 'Sec-Fetch-Site': 'same-origin' };

  async function send(head: string, fields: Fields = {}, body?: string) {
    const all: Fields = { ...own, ...(body !== undefined && { 'Content-Length': String(body.length) }), ...fields };
    const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
    const { responses } = await raw(port, `${[`${head} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n${body ?? ''}`, {
      head: head.startsWith('HEAD'),
    });
    const [response] = responses;
    if (response === undefined) throw new Error(`no response to ${head}`);
    return response;
  }

  const post = (path: string, body: object, fields?: Fields) =>
    send(`POST ${path}`, { 'Content-Type': 'application/json', ...fields }, JSON.stringify(body));

  async function open(): Promise<Fields> {
    const { body, headers } = await post('/ui/session', { code: CODE });
    const cookie = headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
    return { Cookie: cookie, 'X-Vault-Console': JSON.parse(body).secret };
  }

  return { port, origin, send, post, open };
}

const codeOf = ({ body }: { readonly body: string }) => JSON.parse(body || '{}').type?.replace(/.*:/, '');

const SECURITY_FIELDS: readonly (readonly [name: string, value: string])[] = [
  [
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  ],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), microphone=(), geolocation=(), usb=(), clipboard-read=(), clipboard-write=(self)'],
];

describe('responses below /ui/', () => {
  test.each<[what: string, head: string, status: number, fields?: Fields]>([
    ['to a read of the session', 'GET /ui/session', 401],
    ['to a path with an extension', 'GET /ui/nothing.js', 404],
    ['to a wrong method', 'PUT /ui/session', 401],
    ['to an API call', 'GET /ui/api/tokens', 401],
    ['to a DELETE of the page', 'DELETE /ui/', 405],
    ['to a foreign host', 'GET /ui/', 421, { Host: 'evil.test' }],
    ['to a foreign origin', 'GET /ui/', 403, { Origin: 'http://evil.test' }],
  ])('the response %s has the security fields', async (_what, head, status, fields) => {
    const { send } = await serve();
    const response = await send(head, fields);
    expect(response.status).toBe(status);
    expect(SECURITY_FIELDS.map(([name]) => [name, response.headers.get(name)])).toEqual(SECURITY_FIELDS);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  test.each([
    ['gzip, br', 'br'],
    ['gzip', undefined],
    [undefined, undefined],
  ])('the page for a browser that accepts %s has the encoding %s', async (accepted, coding) => {
    const { send } = await serve();
    const { status, headers } = await send('GET /ui/', { 'Accept-Encoding': accepted });
    expect([status, headers.get('content-encoding')]).toEqual([200, coding]);
  });

  test('the response is 503 when an update has replaced the files of the console', async () => {
    const missing = Object.assign(new Error('no such module'), { code: 'ERR_MODULE_NOT_FOUND' });
    const daemon = await startDaemon(world.client, daemonOptions({ console: () => Promise.reject(missing) }));
    daemons.push(daemon);
    const response = await site(daemon.port ?? 0).send('GET /ui/');
    expect([response.status, codeOf(response), response.body]).toEqual([
      503,
      'vault_busy',
      expect.stringContaining('Restart it'),
    ]);
  });

  test('responses outside /ui/ have no security fields', async () => {
    const { send } = await serve();
    const response = await send('GET /livez');
    expect(response.headers.get('content-security-policy')).toBeUndefined();
  });
});

describe('the origin of a request', () => {
  test.each([
    ['the page', 'GET', {}, undefined],
    ['a browser without Fetch metadata', 'GET', { 'Sec-Fetch-Site': undefined }, undefined],
    ['a read without Origin', 'GET', { Origin: undefined }, undefined],
    ['another port of this host', 'GET', { 'Sec-Fetch-Site': 'same-site' }, 'origin_refused'],
    ['another site', 'GET', { 'Sec-Fetch-Site': 'cross-site' }, 'origin_refused'],
    ['a typed address', 'GET', { 'Sec-Fetch-Site': 'none' }, 'origin_refused'],
    ['an invalid word', 'GET', { 'Sec-Fetch-Site': 'same-origin, none' }, 'origin_refused'],
    ['another origin', 'GET', { Origin: 'http://evil.test' }, 'origin_refused'],
    ['an origin of another port', 'GET', { Origin: 'http://127.0.0.1:1' }, 'origin_refused'],
    ['an opaque origin', 'GET', { Origin: 'null' }, 'origin_refused'],
    ['a change without Origin', 'DELETE', { Origin: undefined }, 'origin_refused'],
    ['a rebound name', 'GET', { Host: 'evil.test' }, 'wrong_host'],
  ] as const)('%s: %s %j', async (_what, method, fields, code) => {
    const { send, open } = await serve();
    const response = await send(`${method} /ui/session`, { ...(await open()), ...fields });
    expect(codeOf(response)).toBe(code);
  });

  test.each<[what: string, fields: Fields, code: string | undefined]>([
    ['a published port', { Host: 'localhost:9000', Origin: 'http://localhost:9000' }, undefined],
    ['a tunnel', { Host: '127.0.0.1:9000', Origin: 'http://127.0.0.1:9000' }, undefined],
    ['the default port', { Host: 'localhost', Origin: 'http://localhost' }, undefined],
    ['a proxy that writes the default port', { Host: 'localhost:80', Origin: 'http://localhost' }, undefined],
    ['a proxy with TLS', { Host: 'localhost', Origin: 'https://localhost' }, undefined],
    ['a proxy with TLS on a port', { Host: 'localhost:443', Origin: 'https://localhost' }, undefined],
    ['a page of another port', { Host: 'localhost:9000', Origin: 'http://localhost:9001' }, 'origin_refused'],
    ['a page of the default port', { Host: 'localhost:9000', Origin: 'http://localhost' }, 'origin_refused'],
    ['a page of the other scheme', { Host: 'localhost:443', Origin: 'http://localhost' }, 'origin_refused'],
    ['a proxy that drops the port', { Host: 'localhost', Origin: 'http://localhost:9000' }, 'origin_refused'],
    ['another name of this machine', { Host: 'localhost:9000', Origin: 'http://127.0.0.1:9000' }, 'origin_refused'],
    ['an extension', { Host: 'localhost:9000', Origin: 'chrome-extension://localhost:9000' }, 'origin_refused'],
    ['a rebound name', { Host: 'evil.test:9000', Origin: 'http://evil.test:9000' }, 'wrong_host'],
  ])('behind another port, of %s', async (_what, fields, code) => {
    const { post } = await serve();
    expect(codeOf(await post('/ui/session', { code: CODE }, fields))).toBe(code);
    // Browsers may leave this field out on plain HTTP.
    expect(codeOf(await post('/ui/session', { code: CODE }, { ...fields, 'Sec-Fetch-Site': undefined }))).toBe(code);
  });

  test('a console with TLS accepts no page without TLS', async () => {
    const { origin, post } = await serve({ secure: true });
    expect(codeOf(await post('/ui/session', { code: CODE }))).toBe('origin_refused');
    expect(
      codeOf(await post('/ui/session', { code: CODE }, { Origin: origin.replace('http', 'https') })),
    ).toBeUndefined();
  });

  test('a refused request does not keep the console alive', async () => {
    let count = 0;
    const { send } = await serve({ onRequest: () => ++count });
    await send('GET /ui/', { Origin: 'http://evil.test' });
    await send('GET /ui/', { Host: 'evil.test' });
    expect(count).toBe(0);
    await send('GET /ui/');
    expect(count).toBe(1);
  });

  test('a form cannot open a session', async () => {
    const { post } = await serve();
    const response = await post('/ui/session', { code: CODE }, { 'Content-Type': 'text/plain' });
    expect(codeOf(response)).toBe('unsupported_media_type');
  });

  test('a preflight is not allowed', async () => {
    const { send, open } = await serve();
    const asked = {
      Origin: 'http://evil.test',
      'Access-Control-Request-Method': 'GET',
      'Sec-Fetch-Site': 'cross-site',
    };
    const { status, headers } = await send('OPTIONS /ui/api/tokens', { ...(await open()), ...asked });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([403, undefined]);
  });
});

describe('the two secrets', () => {
  test('neither works alone or with another session', async () => {
    const { send, open } = await serve();
    const [one, other] = [await open(), await open()];
    const cases: readonly (readonly [Fields, number])[] = [
      [one, 200],
      [other, 200],
      [{ Cookie: one['Cookie'] }, 401],
      [{ 'X-Vault-Console': one['X-Vault-Console'] }, 401],
      [{ ...one, 'X-Vault-Console': other['X-Vault-Console'] }, 401],
      [{ ...one, Cookie: 'vault_console_1=x' }, 401],
      [{}, 401],
      [{ ...one, Cookie: `a=b; ${one['Cookie']}; vault_console_1=x` }, 200],
    ];
    for (const [fields, status] of cases) {
      expect((await send('GET /ui/api/tokens', fields)).status, JSON.stringify(fields)).toBe(status);
    }
  });

  test.each([
    ['this port', false, undefined, /^vault_console_PORT=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/ui\/$/],
    ['the port behind which it is, so that consoles of one host have two cookies', false, 9000, /^vault_console_9000=/],
    [
      'this host only, over TLS',
      true,
      undefined,
      /^__Host-vault_console_PORT=[\w-]{43}; HttpOnly; SameSite=Strict; Secure; Path=\/$/,
    ],
  ])('the cookie is hidden from scripts, and for %s', async (_what, secure, behind, cookie) => {
    const { port, post } = await serve({ secure });
    const Host = `127.0.0.1:${behind ?? port}`;
    const { headers } = await post(
      '/ui/session',
      { code: CODE },
      { Host, Origin: `http${secure ? 's' : ''}://${Host}` },
    );
    expect(headers.get('set-cookie')?.replace(`_${port}=`, '_PORT=')).toMatch(cookie);
  });

  test('sessions of consoles on two ports stay open', async () => {
    const [one, two] = [await serve(), await serve()];
    const [first, second] = [await one.open(), await two.open()];
    const cookies = { Cookie: `${first['Cookie']}; ${second['Cookie']}` };
    expect((await one.send('GET /ui/session', { ...first, ...cookies })).status).toBe(200);
    expect((await two.send('GET /ui/session', { ...second, ...cookies })).status).toBe(200);
    expect((await two.send('GET /ui/session', { ...first, ...cookies })).status).toBe(401);
  });
});

describe('a session', () => {
  test('ends after 15 minutes without an action, however much the page polls', async () => {
    const { send, fields } = await opened();
    now = 14 * MINUTE;
    expect((await send('GET /ui/api/tokens', fields)).status).toBe(200);
    now = 15 * MINUTE;
    expect(codeOf(await send('GET /ui/api/tokens', fields))).toBe('console_locked');
  });

  test('stays open while its user is active, for at most 8 hours', async () => {
    const { send, open } = await serve();
    const fields = { ...(await open()), 'X-Vault-Active': '1' };
    for (; now < 8 * 60 * MINUTE; now += 10 * MINUTE) expect((await send('GET /ui/session', fields)).status).toBe(200);
    expect((await send('GET /ui/session', fields)).status).toBe(401);
  });

  test('ends when it is locked', async () => {
    const { send, open } = await serve();
    const [fields, other] = [await open(), await open()];
    expect((await send('DELETE /ui/session', fields)).status).toBe(204);
    expect((await send('GET /ui/session', fields)).status).toBe(401);
    expect((await send('GET /ui/session', other)).status).toBe(200);
  });

  test('describes itself in the reply that opens it, without keys', async () => {
    const { send, post } = await serve();
    const { body, headers } = await post('/ui/session', { code: CODE });
    const { secret, about } = JSON.parse(body);
    const cookie = headers.get('set-cookie')?.replace(/;.*/, '') ?? '';
    const described = await send('GET /ui/session', { Cookie: cookie, 'X-Vault-Console': secret });
    expect(about).toEqual(JSON.parse(described.body));
    const identities = [
      { n: 0, type: 'management' },
      { n: 1, type: 'private', name: 'writer' },
    ];
    expect(about).toMatchObject({ header_prefix: 'SVC', dev: false, identities });
    expect(body + described.body).not.toContain('key_');
  });

  test.each([
    ['fails', () => Promise.reject(new Problem('vault_busy'))],
    ['does not answer', () => new Promise<Reply>(() => undefined)],
  ])('opens while the vault %s', async (_how, call) => {
    const { post } = await serve({ client: { ...world.client, call } });
    const { status, body } = await post('/ui/session', { code: CODE });
    expect([status, JSON.parse(body)]).toEqual([200, { secret: expect.any(String) }]);
  });

  test('ends its long polls when it is locked', async () => {
    const { send, open } = await serve();
    const [fields, other] = [await open(), await open()];
    const { data } = JSON.parse((await send('GET /ui/api/logs?size=1', fields)).body);
    const poll = (by: Fields) => send(`GET /ui/api/logs?after=${data[0].id}&wait=1`, by);
    const [locked, kept] = [poll(fields), poll(other)];
    await send('GET /ui/session', fields); // The polls have arrived.
    const started = performance.now();
    await send('DELETE /ui/session', fields);
    expect(codeOf(await locked)).toBe('console_locked');
    expect(performance.now() - started).toBeLessThan(900);
    expect((await kept).status).toBe(200);
  });

  test('calls as the application with the permission, or as the selected one', async () => {
    const statuses: number[] = [];
    const call: Client['call'] = async (made) => {
      const reply = await world.client.call(made);
      statuses.push(reply.status);
      return reply;
    };
    const { send, fields } = await opened({ client: { ...world.client, call } });
    for (const path of ['/ui/api/tokens', '/ui/api/applications', '/ui/api/tokens?size=1']) {
      expect((await send(`GET ${path}`, fields)).status).toBe(200);
    }
    // A denied call would leave an entry in the audit.
    expect(statuses).not.toContain(403);
    expect(codeOf(await send('GET /ui/api/tokens', { ...fields, 'X-Vault-As': '0' }))).toBe('permission_missing');
    expect(codeOf(await send('GET /ui/api/tokens', { ...fields, 'X-Vault-As': '7' }))).toBe('invalid_request');
    expect(codeOf(await send('GET /ui/api/tenants/self/x', fields))).toBe('route_not_found');
  });

  test('stays open when the key of the application that is named ends', async () => {
    const { send, open } = await serve();
    const fields = { ...(await open()), 'X-Vault-As': '0' };
    const { body } = await send('GET /ui/session', fields);
    const id = JSON.parse(body).identities[0].id;
    expect((await send(`POST /ui/api/applications/${id}/regenerate`, fields)).status).toBe(200);
    // Not `console_locked`, which would lock the page: it would lose the new key that it shows.
    for (const head of [fields, { ...fields, 'X-Vault-As': undefined }]) {
      const refused = await send('GET /ui/api/applications', head);
      expect([refused.status, codeOf(refused)]).toEqual([401, 'unauthenticated']);
      expect(JSON.parse(refused.body).detail).toMatch(/^The API key of \S.* no longer works: /);
    }
    const { identities } = JSON.parse((await send('GET /ui/session', fields)).body);
    expect(identities).toMatchObject([{ n: 0, ended: true }, { n: 1 }]);
    expect(identities[1]).not.toHaveProperty('ended');
    expect((await send('GET /ui/session', fields)).status).toBe(200);
  });

  test('ignores a key in a request', async () => {
    const { send, open } = await serve({ apiKeys: [] });
    const fields = { ...(await open()), 'SVC-API-KEY': writer };
    expect(codeOf(await send('GET /ui/api/tokens', fields))).toBe('permission_missing');
  });

  test('uses a pasted key in this session only', async () => {
    const { post, send, open } = await serve({ apiKeys: [] });
    const [fields, other] = [await open(), await open()];
    const { body } = await post('/ui/session/keys', { key: ` ${writer}\n` }, fields);
    expect(JSON.parse(body).identities).toMatchObject([{ n: 0 }]);
    expect((await send('GET /ui/api/tokens', fields)).status).toBe(200);
    expect((await send('GET /ui/api/tokens', other)).status).toBe(403);
    expect(JSON.parse((await send('DELETE /ui/session/keys/0', fields)).body).identities).toEqual([]);
    expect((await send('GET /ui/api/tokens', fields)).status).toBe(403);
    const wrong = await post('/ui/session/keys', { key: `${writer.slice(0, -1)}!` }, fields);
    expect(JSON.parse(wrong.body).errors).toEqual({ key: ['is not an API key of this vault'] });
    expect(wrong.body).not.toContain(writer.slice(4, 20));
  });

  test.each<[what: string, answer: () => Promise<Reply>, status: number]>([
    ['is busy', async () => problemReply(new Problem('too_many_requests'), ''), 503],
    ['is gone', () => Promise.reject(new Error('unreachable')), 500],
  ])('does not keep a pasted key while the vault %s', async (_what, answer, status) => {
    let call = answer;
    const client = {
      ...world.client,
      call: (sent: Call) => (sent.apiKey === writer ? call() : world.client.call(sent)),
    };
    const { post, send, fields } = await opened({ apiKeys: [], client });
    expect((await post('/ui/session/keys', { key: writer }, fields)).status).toBe(status);
    call = async () => ({ status: 200, bodyText: '{}', traceId: '' });
    expect(JSON.parse((await send('GET /ui/session', fields)).body).identities).toEqual([]);
  });
});

describe('a console of a vault behind a daemon', () => {
  const JSON_BODY = { 'Content-Type': 'application/json' };

  async function serveRemote() {
    const { origin } = await serve();
    return serve({ client: remoteClient({ url: origin }) });
  }

  test('sends the body of the page', async () => {
    const { post, open } = await serveRemote();
    const fields = { ...(await open()), ...JSON_BODY };
    const { status, body } = await post('/ui/api/tokens', { id: 'item-1', type: 'token', data: 'a' }, fields);
    expect([status, JSON.parse(body).id]).toEqual([201, 'item-1']);
  });

  test('answers 503 while the daemon is gone', async () => {
    const { send, fields } = await opened({ client: remoteClient({ url: 'http://127.0.0.1:1' }) });
    const response = await send('GET /ui/api/tokens', fields);
    expect([codeOf(response), response.body]).toEqual(['vault_busy', expect.stringContaining('127.0.0.1:1')]);
  });

  test('refuses a body that it cannot send', async () => {
    const { send, open } = await serveRemote();
    const fields = { ...(await open()), ...JSON_BODY };
    const large = await send('POST /ui/api/tokens', { ...fields, 'Content-Length': '2000000' });
    expect(codeOf(large)).toBe('body_too_large');
    const garbled = await send('POST /ui/api/tokens', fields, '\xff');
    expect(codeOf(garbled)).toBe('malformed_json');
  });
});

describe('the dev controls', () => {
  async function serveDev(status = 200) {
    const asked: object[] = [];
    const site = await serve({
      apiKeys: keysOf(writer, world.management),
      sendToDev: async (request, traceId) => {
        if (request.apiKey !== world.management) return problemReply(new Problem('permission_missing'), traceId);
        asked.push(request);
        return { status, bodyText: '{}', traceId };
      },
    });
    return { ...site, asked };
  }

  test('receive the request of the page with the key of the application that may read the tenant', async () => {
    const { send, post, open, asked } = await serveDev();
    const fields = await open();
    expect(JSON.parse((await send('GET /ui/session', fields)).body).dev).toBe(true);
    await post('/ui/dev/snapshots', { name: 'a' }, fields);
    const { status, body } = await send('GET /ui/dev/requests?after=1&wait=2', fields);
    await send('DELETE /ui/dev/snapshots/a', fields);
    const apiKey = world.management;
    expect([status, body, asked]).toEqual([
      200,
      '{}',
      [
        { method: 'GET', path: '/dev/clock', apiKey },
        { method: 'GET', path: '/dev/clock', apiKey },
        { method: 'POST', path: '/dev/snapshots', apiKey, body: { name: 'a' } },
        { method: 'GET', path: '/dev/requests?after=1&wait=2', apiKey, body: undefined },
        { method: 'DELETE', path: '/dev/snapshots/a', apiKey, body: undefined },
      ],
    ]);
  });

  test('receive nothing without the session, from another origin or for another path', async () => {
    const { send, open, asked } = await serveDev();
    const fields = await open();
    expect((await send('GET /ui/dev/clock')).status).toBe(401);
    expect((await send('POST /ui/dev/reset', { ...fields, Origin: 'http://evil.test' })).status).toBe(403);
    expect((await send('POST /ui/dev/../tokens', fields)).status).toBe(405);
    expect((await send('OPTIONS /ui/dev/clock', fields)).status).toBe(405);
    // The description of the session has read the clock.
    expect(asked).toEqual([{ method: 'GET', path: '/dev/clock', apiKey: world.management }]);
  });

  test('are reported as absent when the daemon lacks them', async () => {
    const { send, open } = await serveDev(404);
    expect(JSON.parse((await send('GET /ui/session', await open())).body).dev).toBe(false);
  });

  test('fail with clear errors without --dev or without a management key', async () => {
    const plain = await serve();
    const refused = await plain.send('GET /ui/dev/clock', await plain.open());
    expect([codeOf(refused), JSON.parse(refused.body).detail]).toEqual([
      'route_not_found',
      'Only `vault serve --dev` has dev controls.',
    ]);
    const { send, open } = await serve({ apiKeys: [], sendToDev: () => Promise.reject(new Error('asked')) });
    expect(codeOf(await send('GET /ui/dev/clock', await open()))).toBe('permission_missing');
  });
});

describe('commands on the file', () => {
  const REQUESTS = [
    ['POST', 'verify'],
    ['POST', 'doctor'],
    ['GET', 'keys'],
    ['GET', 'file'],
  ] as const;
  const holder = {
    verify: async () => ({ ran: 'verify' }),
    doctor: async () => ({ ran: 'doctor' }),
    keys: async () => ({ ran: 'keys' }),
    file: async () => ({ ran: 'file' }),
  };

  test.each(REQUESTS)('%s %s runs only when the console has the file', async (method, name) => {
    const { send, open } = await serve({ holder });
    const { status, body } = await send(`${method} /ui/holder/${name}`, await open());
    expect([status, JSON.parse(body)]).toEqual([200, { ran: name }]);
    const without = await opened();
    expect(codeOf(await without.send(`${method} /ui/holder/${name}`, without.fields))).toBe('route_not_found');
    expect(JSON.parse((await without.send('GET /ui/session', without.fields)).body).file).toBe(false);
  });

  test.each<[what: string, fields: (own: Fields) => Fields, code: string]>([
    ['without secrets', () => ({}), 'console_locked'],
    ['with the cookie alone', ({ Cookie }) => ({ Cookie }), 'console_locked'],
    ['from another port', (own) => ({ ...own, 'Sec-Fetch-Site': 'same-site' }), 'origin_refused'],
    ['from another origin', (own) => ({ ...own, Origin: 'http://evil.test' }), 'origin_refused'],
    ['to another host', (own) => ({ ...own, Host: 'evil.test' }), 'wrong_host'],
  ])('does not run %s', async (_what, fieldsOf, code) => {
    let ran = 0;
    const counting = { ...holder, doctor: async () => ({ ran: ++ran }) };
    const { send, open } = await serve({ holder: counting });
    const own = await open();
    expect(codeOf(await send('POST /ui/holder/doctor', fieldsOf(own)))).toBe(code);
    expect((await send('POST /ui/holder/doctor', own)).body).toBe('{"ran":1}');
  });

  test('accept only their own method and name', async () => {
    const { send, fields } = await opened({ holder });
    const { status, headers } = await send('GET /ui/holder/doctor', fields);
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    for (const name of ['constructor', 'x', 'doctor/']) {
      expect((await send(`POST /ui/holder/${name}`, fields)).status).toBe(405);
    }
  });
});

describe('a code', () => {
  const once = { code: { text: CODE, life: 'once', madeAt: 0 } } as const;

  test('opens one session', async () => {
    const { post } = await serve(once);
    expect((await post('/ui/session', { code: 'another' })).status).toBe(401);
    expect((await post('/ui/session', { code: CODE })).status).toBe(200);
    expect(codeOf(await post('/ui/session', { code: CODE }))).toBe('console_locked');
  });

  test('opens nothing two minutes after it was made', async () => {
    const { post } = await serve(once);
    // The console does not exist before the first request.
    now = 2 * MINUTE;
    expect((await post('/ui/session', { code: CODE })).status).toBe(401);
  });

  test('can be guessed 20 times a second', async () => {
    const { post } = await serve();
    const statuses = await Promise.all(Array.from({ length: 40 }, () => post('/ui/session', { code: 'x' })));
    expect(statuses.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(21);
    expect(statuses.some(({ status }) => status === 429)).toBe(true);
  });

  test.each([[{}], [{ code: 1 }], [[]]])('must be a text: %j', async (body) => {
    const { post } = await serve();
    expect(codeOf(await post('/ui/session', body))).toBe('invalid_request');
  });

  test.each<[what: string, answer: () => Promise<boolean>, status: number, code: string | undefined]>([
    ['allows', async () => true, 200, undefined],
    ['refuses', async () => false, 403, 'console_refused'],
    ['has gone', () => Promise.reject(new Error('no terminal')), 403, 'console_refused'],
  ])('waits for a terminal that %s', async (_what, answer, status, code) => {
    let asked = '';
    const { post } = await serve({
      ...once,
      confirm: (number) => {
        asked = number;
        return answer();
      },
    });
    const first = await post('/ui/session', { code: CODE });
    const { number, wait } = JSON.parse(first.body);
    expect([first.status, number, first.headers.get('set-cookie')]).toEqual([202, asked, undefined]);
    expect(number).toMatch(/^\d{4}$/);
    const second = await post('/ui/session', { wait });
    expect([second.status, codeOf(second)]).toEqual([status, code]);
    // A wait works only once.
    expect((await post('/ui/session', { wait })).status).toBe(401);
    expect((await post('/ui/session', { wait: `${wait}x` })).status).toBe(401);
  });
});

describe('a console alone', () => {
  test('serves nothing else', async () => {
    const { send } = await serve({}, { isConsoleOnly: true });
    for (const head of ['GET /tokens', 'GET /livez', 'POST /tokens']) {
      expect(codeOf(await send(head, { 'SVC-API-KEY': writer }))).toBe('route_not_found');
    }
  });

  test('redirects a browser from the root', async () => {
    const { send } = await serve({}, { isConsoleOnly: true });
    const { status, headers } = await send('GET /', { Accept: 'text/html,*/*' });
    expect([status, headers.get('location')]).toEqual([302, '/ui/']);
  });
});
