import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { SERVE_FLAGS, serveOptions } from '../../src/cli/commands/serve/serve-options.ts';
import { addFlags } from '../../src/cli/flags/global-flags.ts';
import { startDaemon } from '../../src/http/daemon.ts';
import { openTestVault } from '../test-vault.ts';
import { daemonOptions, echoClient, flawsOfProblem, KEY, type RawResponse, raw } from './http-fixture.ts';
import { faultCode, start, undo } from './http-harness.ts';

const SHOP = 'https://shop.example';
const OTHER = 'https://evil.example';
const options = { corsOrigins: [SHOP, 'http://localhost:3000'] };

const corsFields = (response: RawResponse | undefined): readonly string[] =>
  [...(response?.headers.keys() ?? [])].filter((name) => name.startsWith('access-control-'));

const preflight = (port: number, path: string, origin: string) =>
  `OPTIONS ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: PATCH\r\n` +
  'Access-Control-Request-Headers: content-type,svc-api-key\r\n\r\n';

describe('a preflight', () => {
  test('of a listed origin is answered without a key', async () => {
    const { client, port } = await start(options);
    const [answer] = (await raw(port, preflight(port, '/tokens/abc', SHOP))).responses;
    expect(answer?.status).toBe(204);
    expect(answer?.body).toBe('');
    expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
      'access-control-allow-origin': SHOP,
      'access-control-allow-methods': 'GET, HEAD, PATCH, DELETE',
      'access-control-allow-headers': 'Content-Type, SVC-API-KEY, SVC-TRACE-ID, SVC-IDEMPOTENCY-KEY, traceparent',
      'access-control-max-age': '600',
      vary: 'Origin',
    });
    expect(answer?.headers.has('access-control-allow-credentials')).toBe(false);
    expect(client.calls).toEqual([]);
  });

  test('names the headers of another prefix', async () => {
    const { port } = await start({ ...options, headerPrefix: 'Acme' });
    const [answer] = (await raw(port, preflight(port, '/tokens/', SHOP))).responses;
    expect(answer?.headers.get('access-control-allow-headers')).toContain('Acme-API-KEY');
  });

  test.each([
    ['of another origin', '/tokens', OTHER, 'method_not_allowed', []],
    ['of a longer origin', '/tokens', `${SHOP}.evil.example`, 'method_not_allowed', []],
    ['of null', '/tokens', 'null', 'method_not_allowed', []],
    ['of a listed origin in upper case', '/tokens', 'https://SHOP.example', 'method_not_allowed', []],
    ['of two origins', '/tokens', `${SHOP}\r\nOrigin: ${SHOP}`, 'method_not_allowed', []],
    [
      'for an unknown path',
      '/nowhere',
      SHOP,
      'route_not_found',
      ['access-control-allow-origin', 'access-control-expose-headers'],
    ],
  ] as const)('%s is rejected', async (_what, path, origin, code, fields) => {
    const { port } = await start(options);
    const [answer] = (await raw(port, preflight(port, path, origin))).responses;
    expect(flawsOfProblem(answer, code)).toEqual([]);
    expect(corsFields(answer)).toEqual(fields);
  });

  test('needs Access-Control-Request-Method', async () => {
    const { port } = await start(options);
    const plain = preflight(port, '/tokens', SHOP).replace(/Access-Control-Request-Method.*\r\n/, '');
    expect(flawsOfProblem((await raw(port, plain)).responses[0], 'method_not_allowed')).toEqual([]);
  });

  test('without a list is an unknown method', async () => {
    const { port } = await start();
    const [answer] = (await raw(port, preflight(port, '/tokens', SHOP))).responses;
    expect(flawsOfProblem(answer, 'method_not_allowed')).toEqual([]);
    expect([corsFields(answer), answer?.headers.has('vary')]).toEqual([[], false]);
  });
});

describe('a request', () => {
  test('of a listed origin may be read by the page, whatever the status', async () => {
    const { client, port, get } = await start(options);
    const key = `SVC-API-KEY: ${KEY}\r\n`;
    const statuses = [];
    for (const [path, headers] of [
      ['/tokens', key],
      ['/tokens', ''],
      ['/nowhere', key],
      ['/openapi.json', ''],
    ] as const) {
      const [answer] = (await raw(port, get(path, `${headers}Origin: ${SHOP}\r\n`))).responses;
      statuses.push(answer?.status);
      expect(answer?.headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(answer?.headers.get('access-control-expose-headers')).toBe(
        'SVC-TRACE-ID, SVC-IDEMPOTENT-REPLAYED, Retry-After',
      );
      expect(answer?.headers.get('vary')).toBe('Origin');
    }
    expect(statuses).toEqual([200, 401, 404, 200]);
    expect(client.calls[0]?.fromBrowser).toBe(true);
  });

  test.each([
    ['of another origin', `Origin: ${OTHER}\r\n`],
    ['of null', 'Origin: null\r\n'],
    ['without an origin', ''],
  ])('%s is answered without CORS fields, but with Vary', async (_what, origin) => {
    const { client, port, get } = await start(options);
    const [answer] = (await raw(port, get('/tokens', `SVC-API-KEY: ${KEY}\r\n${origin}`))).responses;
    expect(answer?.status).toBe(200);
    expect(corsFields(answer)).toEqual([]);
    expect(answer?.headers.get('vary')).toBe('Origin');
    expect(client.calls[0]?.fromBrowser).toBeUndefined();
  });
});

test.each([
  '*',
  'null',
  'shop.example',
  'https://shop.example/',
  'https://Shop.example',
  'https://shop.example:443',
  'https://a,https://b',
  'https://u@shop.example',
  '',
])('the list rejects %j', async (origin) => {
  expect(await startDaemon(echoClient(), daemonOptions({ corsOrigins: [origin] })).catch(faultCode)).toBe('usage');
});

test.each(['http://localhost:3000', 'https://xn--shp-una.example', 'capacitor://localhost', 'http://[::1]:8080'])(
  'the list accepts %j',
  async (origin) => {
    const { port, get } = await start({ corsOrigins: [origin] });
    const [answer] = (await raw(port, get('/livez', `Origin: ${origin}\r\n`))).responses;
    expect(answer?.headers.get('access-control-allow-origin')).toBe(origin);
  },
);

test('a page may use public and expiring keys, but no private or management key', async () => {
  const world = await openTestVault('cors');
  const daemon = await startDaemon(world.client, daemonOptions({ ...options, limits: world.vault.limits }));
  undo.push(() => daemon.stop());
  const port = daemon.port ?? 0;
  const rule = { description: '', priority: 1, transform: 'mask', permissions: ['token:read'] };
  const conditions = [{ attribute: 'container', operator: 'starts_with', value: '/' }];
  const keys = {
    public: await world.application({ name: 'p', type: 'public', permissions: ['token:create'] }),
    expiring: await world.application({ name: 'e', type: 'expiring', rules: [{ ...rule, conditions }] }),
    private: await world.application({ name: 'b', type: 'private', permissions: ['token:create', 'token:read'] }),
    management: world.management,
  };
  const ask = async (method: 'GET /tokens' | 'GET /tenants/self' | 'POST /tokens', key: string, origin: string) => {
    const body = method === 'POST /tokens' ? '{"type":"token","data":1}' : '';
    const head = `${method} HTTP/1.1\r\nHost: localhost:${port}\r\nSVC-API-KEY: ${key}\r\nContent-Type: application/json\r\n`;
    const [answer] = (await raw(port, `${head}${origin}Content-Length: ${body.length}\r\n\r\n${body}`)).responses;
    return answer;
  };
  const shop = `Origin: ${SHOP}\r\n`;
  expect((await ask('POST /tokens', keys.public, shop))?.status).toBe(201);
  expect((await ask('GET /tokens', keys.expiring, shop))?.status).toBe(200);
  for (const [method, key] of [
    ['POST /tokens', keys.private],
    ['GET /tokens', keys.private],
    ['GET /tenants/self', keys.management],
  ] as const) {
    const refused = await ask(method, key, shop);
    expect(flawsOfProblem(refused, 'origin_refused')).toEqual([]);
    // The page may read the problem.
    expect(refused?.headers.get('access-control-allow-origin')).toBe(SHOP);
    expect([200, 201]).toContain((await ask(method, key, ''))?.status);
    expect([200, 201]).toContain((await ask(method, key, `Origin: ${OTHER}\r\n`))?.status);
  }
  // No origin list covers pages of the daemon itself, pages of another port, or pages opened by hand.
  for (const site of ['same-origin', 'same-site', 'cross-site', 'none', 'anything']) {
    const field = `Sec-Fetch-Site: ${site}\r\n`;
    for (const key of [keys.private, keys.management]) {
      expect(flawsOfProblem(await ask('GET /tokens', key, field), 'origin_refused')).toEqual([]);
    }
    expect((await ask('POST /tokens', keys.public, field))?.status).toBe(201);
    expect((await ask('GET /tokens', keys.expiring, field))?.status).toBe(200);
  }
  // An invalid key is reported before the origin, and the origin before missing permissions.
  expect(flawsOfProblem(await ask('GET /tokens', 'key_x', shop), 'unauthenticated')).toEqual([]);
  expect(flawsOfProblem(await ask('GET /tokens', keys.management, shop), 'origin_refused')).toEqual([]);
});

describe('--cors-origin', () => {
  const read = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const command = new Command();
    addFlags(command, SERVE_FLAGS);
    return serveOptions({ flags: command.parse(words, { from: 'user' }).opts(), env }).corsOrigins;
  };

  test('is repeatable, and its variable is a list', () => {
    expect(read(['--cors-origin', SHOP, '--port', '0', '--cors-origin', OTHER])).toEqual([SHOP, OTHER]);
    expect(read([], { VAULT_CORS_ORIGIN: `${SHOP}, ${OTHER}` })).toEqual([SHOP, OTHER]);
    expect(read(['--cors-origin', SHOP], { VAULT_CORS_ORIGIN: OTHER })).toEqual([SHOP]);
    expect(read([])).toBeUndefined();
  });
});
