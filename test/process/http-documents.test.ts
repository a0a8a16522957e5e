import { describe, expect, test } from 'vitest';
import { VERSION } from '../../src/cli/help/version.ts';
import { runMain } from '../unit/run-main.ts';
import { flawsOfProblem, raw } from './http-fixture.ts';
import { start } from './http-harness.ts';

describe('the root', () => {
  test('names the product and its other paths', async () => {
    const { client, port, get } = await start({ version: '1.2.3' });
    const [root] = (await raw(port, get('/', ''))).responses;
    expect(root?.status).toBe(200);
    expect(root?.headers.get('content-type')).toBe('application/json');
    const body = JSON.parse(root?.body ?? '');
    expect(body).toMatchObject({ name: 'token-vault', version: '1.2.3', openapi: '/openapi.json' });
    for (const path of [body.openapi, body.live, body.ready]) {
      expect((await raw(port, get(path, ''))).responses[0]?.status).toBe(200);
    }
    expect(client.calls).toEqual([]);
  });

  test('and the document accept HEAD, a trailing slash and a query; other methods get 405', async () => {
    const { port, get } = await start();
    for (const path of ['/', '/?a=b', '/openapi.json', '/openapi.json/', '/openapi.json?v=1']) {
      const asked = get(path, 'SVC-TRACE-ID: t\r\n');
      const [whole] = (await raw(port, asked)).responses;
      const [head] = (await raw(port, asked.replace('GET', 'HEAD'), { head: true })).responses;
      expect([whole?.status, head?.status]).toEqual([200, 200]);
      expect(head?.headers.get('content-length')).toBe(String(whole?.body.length));
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'BREW']) {
        const [refused] = (await raw(port, asked.replace('GET', method))).responses;
        expect(flawsOfProblem(refused, 'method_not_allowed')).toEqual([]);
        expect(refused?.headers.get('allow')).toBe('GET, HEAD');
      }
    }
  });
});

describe('the OpenAPI document', () => {
  test.each([undefined, 'Acme'])(
    'is the same from the daemon and from `vault openapi`, with header prefix %s',
    async (prefix) => {
      const { port, get } = await start({ version: VERSION, ...(prefix && { headerPrefix: prefix }) });
      const [served] = (await raw(port, get('/openapi.json', ''))).responses;
      const { stdout, exitCode } = await runMain('openapi', ...(prefix ? ['--header-prefix', prefix] : []));
      expect(exitCode).toBe(0);
      expect(served?.headers.get('content-type')).toBe('application/json');
      expect(Buffer.from(served?.body ?? '', 'latin1').toString()).toBe(stdout);
      expect(JSON.parse(stdout)).toMatchObject({
        openapi: '3.1.0',
        info: { version: VERSION },
        servers: [{ url: '/' }],
        components: {
          securitySchemes: { ApiKey: { type: 'apiKey', in: 'header', name: `${prefix ?? 'SVC'}-API-KEY` } },
          parameters: { TraceId: { name: `${prefix ?? 'SVC'}-TRACE-ID` } },
        },
      });
      expect(stdout.includes('SVC-')).toBe(prefix === undefined);
    },
  );

  test('names the server URL', async () => {
    const { stdout } = await runMain('openapi', '--server-url', 'https://vault.example/');
    expect(JSON.parse(stdout).servers).toEqual([{ url: 'https://vault.example/' }]);
  });

  test.each([
    ['--header-prefix', 'A:B'],
    ['--server-url', 'ftp://x'],
    ['--server-url', 'here'],
    ['--server-url', 'https://x/?y'],
  ])('rejects %s %s', async (...words) => {
    expect(await runMain('openapi', ...words)).toMatchObject({ stdout: '', exitCode: 2 });
  });
});
