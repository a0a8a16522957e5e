import { readFileSync } from 'node:fs';
import net, { type Socket } from 'node:net';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { makePlace, send } from './cli-fixture.ts';

const place = makePlace();
let management = '';
let key = '';
beforeAll(async () => {
  management = await place.init('v');
  key = await place.application('v', management, 'token:create,token:read');
});

it('--rate-limit counts each call of an application once, whatever it asks', async () => {
  const { url } = await place.serve(['--file', 'v.db', '--rate-limit', '6/h']);
  const ask = (line: string, apiKey: string, body?: object) => send(url, line, apiKey, body);
  const made = await ask('POST /tokens', key, { type: 'token', data: 1 });
  const get = `GET /tokens/${made.body.id}`;
  // The first of these is read from the store, the others from memory.
  const statuses = [made.status];
  for (let n = 0; n < 3; n += 1) statuses.push((await ask(get, key)).status);
  statuses.push((await ask('GET /tokens/none', key)).status);
  statuses.push((await ask('POST /tokens', key, { type: 'nothing' })).status);
  expect(statuses).toEqual([201, 200, 200, 200, 404, 400]);

  const refused = await ask(get, key);
  expect([refused.status, refused.headers.get('retry-after'), typeof refused.body.title]).toEqual([
    429,
    '600',
    'string',
  ]);
  expect((await ask('POST /tokens', key, { type: 'token', data: 2 })).status).toBe(429);
  // Others are not affected: another application, a wrong key, the daemon's own paths.
  expect((await ask('GET /tenants/self', management)).status).toBe(200);
  expect((await ask(get, 'key_wrong')).status).toBe(401);
  expect((await ask('GET /readyz', '')).status).toBe(200);
});

it('--max-connections closes further connections, and counts them', async () => {
  const { url, ready } = await place.serve(['--file', 'v.db', '--max-connections', '2', '--metrics', '127.0.0.1:0']);
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  /** Sends a request on a new connection. Resolves to the first line of the reply, or to `closed`. */
  const request = async () => {
    const socket = net.connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.write(`GET /livez HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    const answer = await new Promise((resolve) => void socket.once('data', resolve).once('close', resolve));
    return Buffer.isBuffer(answer) ? answer.toString().split('\r\n')[0] : 'closed';
  };
  expect([await request(), await request(), await request()]).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK', 'closed']);
  const metrics = await (await fetch(String(ready['metrics']))).text();
  expect(metrics).toMatch(/^vault_dropped_connections_total 1$/m);
  sockets[0]?.destroy();
  await expect.poll(request, { timeout: 10_000 }).toBe('HTTP/1.1 200 OK');
});

it('a public key that is denied 500 times adds about a hundred entries to the audit', async () => {
  const env = { VAULT_FILE: 'v.db', VAULT_API_KEY: management };
  const made = await place.vault('apps create --name web --type public --permission token:create --field key', env);
  const daemon = await place.serve(['--file', 'v.db']);
  const ask = async () => (await send(daemon.url, 'GET /tokens', made.stdout.trim())).status;
  for (let round = 0; round < 10; round += 1) {
    expect(new Set(await Promise.all(Array.from({ length: 50 }, ask)))).toEqual(new Set([403]));
  }
  expect(await daemon.stop()).toBe(0);

  const json = async (words: string) => JSON.parse((await place.vault(`audit ${words} -o json`, env)).stdout);
  const denied = (await place.vault('audit list --denied --all --field message', env)).stdout.trim().split('\n');
  const counts = denied.map((message) => Number(/ (\d+) times?:/.exec(message)?.[1] ?? 1));
  // A new minute may have begun. Then there are two counted entries and two hundred others.
  expect(denied.length).toBeLessThanOrEqual(202);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(500);
  const counted = counts.filter((count) => count > 1).reduce((sum, count) => sum + count, 0);
  expect(await json('verify')).toMatchObject({ ok: true, counted_denials: counted });
  await place.vault('audit export --out audit.ndjson', env);
  const lines = readFileSync(place.inside('audit.ndjson'), 'utf8').trim().split('\n');
  const exported = lines.map((line) => JSON.parse(line)).find(({ count }) => count !== undefined);
  const time = expect.stringMatching(/^\d{4}-/);
  expect(exported).toMatchObject({ action: 'listTokens', status: 403, first_at: time, last_at: time, entities: [] });
});
