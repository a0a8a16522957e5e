import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { Agent, RetryAgent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PROBLEM_TYPE_PREFIX } from '../../src/contract/problems.ts';
import { startVault, type TestVault } from '../../src/testing/start-vault.ts';
import { makePlace, send } from './cli-fixture.ts';

const DAY = 24 * 60 * 60 * 1000;
const inTime = (ms: number) => new Date(Date.now() + ms).toISOString();

const place = makePlace();
let vault: TestVault;
let asManagement: Readonly<Record<string, string>>;
let asPrivate: Readonly<Record<string, string>>;
beforeAll(async () => {
  vault = await startVault();
  asManagement = { VAULT_URL: vault.url, VAULT_API_KEY: vault.keys.management_key };
  asPrivate = { VAULT_URL: vault.url, VAULT_API_KEY: vault.keys.private_key };
});
beforeEach(() => vault.reset());
afterAll(async () => {
  await vault.stop();
});

const ask = (line: string, body?: string, key = vault.keys.management_key) => send(vault.url, line, key, body);
const codeOf = ({ body }: Awaited<ReturnType<typeof send>>) => body.type.slice(PROBLEM_TYPE_PREFIX.length);
const askPrivately = (line: string, body?: string) => ask(line, body, vault.keys.private_key);

it.each(['/tokens', '/dev/clock'])('answers any number of wrong keys with 401: %s', async (path) => {
  const replies = await Promise.all(Array.from({ length: 50 }, () => ask(`GET ${path}`, undefined, 'wrong')));
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([401]));
});

describe('vault dev clock', () => {
  const DURATION = 'a duration such as 90s, 15m, 25h or 30d';

  it('advances: tokens that expire tomorrow are gone, and stay gone when the clock moves back', async () => {
    await vault.client.createToken({ body: { id: 'short', type: 'token', data: 1, expires_at: inTime(DAY) } });
    await vault.client.createToken({ body: { id: 'long', type: 'token', data: 1, expires_at: inTime(2 * DAY) } });
    const advanced = await place.vault('dev clock advance 25h', asManagement);
    expect(JSON.parse(advanced.stdout)).toMatchObject({ offset_ms: 25 * 60 * 60 * 1000, removed: 1 });
    expect(await place.vault('tokens get short', asPrivate)).toMatchObject({ exitCode: 3 });
    expect(await place.vault('tokens get long -q', asPrivate)).toMatchObject({ stdout: 'long\n' });
    const reset = await place.vault('dev clock reset', asManagement);
    expect(JSON.parse(reset.stdout)).toMatchObject({ offset_ms: 0, removed: 0 });
    expect(await place.vault('tokens get short', asPrivate)).toMatchObject({ exitCode: 3 });
    const again = vault.client.createToken({ body: { id: 'short', type: 'token', data: 1 } });
    await expect(again).rejects.toMatchObject({ code: 'token_id_taken' });
  });

  it.each([
    ['set 25h', 2, 'ISO 8601'],
    ['set 2030-02-31T25:00', 2, 'not a valid time'],
    ['set 2030-02-30', 2, '2030-02-30 is not a valid time'],
    ['set -1h', 2, 'the time must be ISO 8601, such as 2030-01-31'],
    ['advance tomorrow', 2, 'duration'],
    ['advance -1h', 2, `the clock only moves forward, by ${DURATION}\nhint: run \`vault dev clock advance `],
    ['advance -- -1h', 2, 'the clock only moves forward'],
    ['advance 1y', 2, DURATION],
    ['advance 9999999d', 7, 'vault:   <duration>: must be'],
    ['advance --fast 1h', 2, "unknown option '--fast'"],
    ['reset --file v.db', 2, '--file does not apply: this command opens no file\nhint: name a daemon with --url'],
  ])('rejects %s', async (words, exitCode, fact) => {
    const ended = await place.vault(`dev clock ${words}`, words.includes('--file') ? {} : asManagement);
    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(fact) });
    expect((await vault.clock.now()).getTime()).toBeLessThan(Date.now() + 60_000);
  });

  it('removes expired tokens from a kept file, and records it in the audit', { timeout: 60_000 }, async () => {
    const daemon = await place.serve(['--dev', '--file', 'kept.db']);
    const url = daemon.url;
    const create = ['tokens', 'create', '--type', 'token', '--text', 'x', '--id', 'old', '--expires-at', inTime(DAY)];
    await place.vault(create, { VAULT_URL: url, VAULT_API_KEY: String(daemon.ready['private_key']) });
    const env = { VAULT_URL: url, VAULT_API_KEY: String(daemon.ready['management_key']) };
    expect(await place.vault('dev clock advance 25h --field removed', env)).toMatchObject({ stdout: '1\n' });
    expect((await send(url, 'POST /dev/reset', env.VAULT_API_KEY)).status).toBe(404);
    await daemon.stop();
    const audit = await place.vault('audit list --file kept.db -o ndjson');
    expect(audit.stdout).toContain('"expireToken"');
    expect(await place.vault('doctor --file kept.db')).toMatchObject({ exitCode: 0 });
  });
});

describe('the next expiry', () => {
  it('is shown, and the clock can be set to it', async () => {
    expect((await ask('GET /dev/clock')).body).not.toHaveProperty('next_expiry');
    const at = new Date(Date.now() + DAY).toISOString().replace('Z', '+00:00');
    await vault.client.createToken({ body: { type: 'token', data: 1, expires_at: inTime(2 * DAY) } });
    await vault.client.createToken({ body: { type: 'token', data: 1, expires_at: at } });
    expect(await place.vault('dev clock show --field next_expiry', asManagement)).toMatchObject({ stdout: `${at}\n` });
    const moved = await place.vault(['dev', 'clock', 'set', at, '--field', 'removed'], asManagement);
    expect(moved).toMatchObject({ stdout: '1\n' });
    expect((await vault.client.listTokens()).data).toHaveLength(1);
  });
});

describe('vault dev faults', () => {
  const create = JSON.stringify({ type: 'token', data: 1 });

  it('a client that tries again passes two 429s on its third try', async () => {
    const set = ['dev', 'faults', 'set', 'POST /tokens', '--status', '429', '--times', '2', '--retry-after', '0s'];
    expect(await place.vault(set, asManagement)).toMatchObject({ exitCode: 0 });
    const agent = new Agent();
    const dispatcher = new RetryAgent(agent, { methods: ['POST'], statusCodes: [429], minTimeout: 1, maxRetries: 2 });
    const headers = { 'svc-api-key': vault.keys.private_key, 'content-type': 'application/json' };
    const reply = await request(`${vault.url}/tokens`, { method: 'POST', headers, body: create, dispatcher });
    await reply.body.dump();
    expect(reply.statusCode).toBe(201);
    expect(await vault.faults.list()).toEqual([]);
    const { pagination } = await vault.client.listTokens();
    expect(pagination.total_items).toBe(1);
    await agent.close();
  });

  it('control: a client with one try fewer fails', async () => {
    await vault.faults.set({ request: 'POST /tokens', status: 429, times: 2 });
    const tries = [];
    for (let i = 0; i < 2; i++) tries.push(await askPrivately('POST /tokens', create));
    expect(tries.map(({ status }) => status)).toEqual([429, 429]);
    expect(tries[0]?.headers.get('retry-after')).toBe('1');
    expect(tries[0]?.headers.get('content-type')).toBe('application/problem+json');
    expect(tries[0]?.body).toMatchObject({
      type: `${PROBLEM_TYPE_PREFIX}too_many_requests`,
      status: 429,
      instance: tries[0]?.headers.get('svc-trace-id'),
    });
    expect((await vault.client.listTokens()).pagination.total_items).toBe(0);
  });

  it('a delayed body arrives later, and whole', async () => {
    await place.vault(`dev faults set 'POST /tokens' --delay 150ms`, asManagement);
    const data = 'x'.repeat(200_000);
    const started = performance.now();
    const { id } = await vault.client.createToken({ body: { type: 'token', data } });
    expect(performance.now() - started).toBeGreaterThan(140);
    expect((await vault.client.getToken({ params: { id } })).data).toBe(data);
  });

  it('a dropped request has no answer', async () => {
    await place.vault(`dev faults set '* /tokens/{id}' --drop`, asManagement);
    await expect(ask('GET /tokens/a')).rejects.toThrow('fetch failed');
    expect((await askPrivately('GET /tokens/a')).status).toBe(404);
  });

  it('list and clear', async () => {
    await place.vault(`dev faults set 'GET /tokens' --status 503 --times 3`, asManagement);
    const listed = await place.vault('dev faults list -o csv', asManagement);
    expect(listed.stdout).toContain('GET /tokens,503');
    expect((await place.vault('dev faults clear', asManagement)).stdout).toBe('{"data":[]}\n');
    expect((await askPrivately('GET /tokens')).status).toBe(200);
  });

  it.each([
    ["'GET /tokens' --status 500 --drop", 2, '--drop'],
    ["'GET /tokenz' --drop", 7, 'a path of the API'],
    ["'GET /tokens' --status 418", 7, 'vault:   --status: must be one of'],
    ["'GET /tokens' --delay 60s", 7, 'vault:   --delay: must be a whole number of milliseconds from 0 to 25000'],
    ["'GTE /tokens' --drop", 7, 'vault:   <request>: must be a method'],
  ])('rejects %s', async (words, exitCode, fact) => {
    const ended = await place.vault(`dev faults set ${words}`, asManagement);
    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(fact) });
    expect(await vault.faults.list()).toEqual([]);
  });
});

describe('vault dev requests', () => {
  const SECRET = 'S3CRET';

  interface Entry {
    readonly id: number;
    readonly [member: string]: unknown;
  }
  const entries = async (query = ''): Promise<readonly Entry[]> => (await ask(`GET /dev/requests${query}`)).body.data;

  it('lists answers by route, without values from requests', async () => {
    const before = (await entries())[0]?.id ?? 0;
    await askPrivately(`GET /tokens/${SECRET}`);
    await ask(`GET /${SECRET}`, undefined, SECRET);
    const body = JSON.stringify({ type: 'token', data: SECRET, mask: SECRET, id: SECRET, metadata: { a: 1 } });
    await fetch(`${vault.url}/tokens?metadata.x=${SECRET}`, {
      method: 'POST',
      headers: {
        'svc-api-key': vault.keys.private_key,
        'svc-trace-id': 'of-the-test',
        'content-type': 'application/json',
        'x-other': SECRET,
      },
      body,
    });
    await vault.faults.set({ request: 'GET /tokens/{id}', status: 429 });
    await askPrivately(`GET /tokens/${SECRET}`);
    await vault.clock.advance(DAY);
    await ask('GET /livez');
    await ask('GET /dev/other');
    await fetch(`${vault.url}/livez`, { headers: { 'user-agent': 'token-vault-console' } });

    const shown = await entries(`?after=${before}`);
    expect(shown.map(({ id }) => id - before)).toEqual([5, 4, 3, 2, 1]);
    expect(shown).toMatchObject([
      { method: 'GET', route: '/livez', status: 200 },
      { method: 'GET', route: '/tokens/{id}', status: 429, problem: 'too_many_requests' },
      {
        route: '/tokens',
        status: 400,
        trace_id: 'of-the-test',
        problem: 'invalid_request',
        members: ['metadata.x'],
      },
      { method: 'GET', status: 404, problem: 'route_not_found' },
      { route: '/tokens/{id}', status: 404, ms: expect.any(Number), application_id: expect.any(String) },
    ]);
    expect(shown[3]).not.toHaveProperty('route');
    expect(JSON.stringify(shown)).not.toContain(SECRET);
    const [later = 0, earlier = 0] = shown.map(({ time }) => Date.parse(String(time)));
    expect(later - earlier).toBeGreaterThanOrEqual(DAY);
  });

  it('prints requests, and with --follow new ones until the daemon stops', async () => {
    const own = await startVault();
    const env = { VAULT_URL: own.url, VAULT_API_KEY: own.keys.management_key };
    await fetch(`${own.url}/livez`);
    const table = await place.vault('dev requests -o table', env);
    expect(table.stdout).toMatch(/^TIME +METHOD +ROUTE +STATUS +MS +BYTES .*\n\S+ \S+ +GET +\/livez +200 /);
    const child = place.start('dev requests --follow --field route', env);
    const printed = createInterface({ input: child.stdout });
    for (const path of ['/livez', '/readyz', '/openapi.json']) {
      if (path !== '/livez') await fetch(`${own.url}${path}`);
      expect(await once(printed, 'line')).toEqual([path]);
    }
    await own.stop();
    expect(await child.ended).toMatchObject({ exitCode: 8 });
  });

  it('ends waits when the daemon stops', async () => {
    const own = await startVault();
    const waiting = send(own.url, 'GET /dev/requests?wait=25', own.keys.management_key);
    await setTimeout(200);
    const started = performance.now();
    await own.stop();
    expect((await waiting).body).toEqual({ data: [] });
    expect(performance.now() - started).toBeLessThan(3000);
  });
});

describe('vault dev snapshot on a --dev daemon', () => {
  const create = (id: string, data = 'x') => vault.client.createToken({ body: { id, type: 'token', data } });
  const ids = async () => (await vault.client.listTokens()).data.map(({ id }) => id);

  it('restores a state, and prints the same as on a file', async () => {
    await create('one');
    const saved = await place.vault('dev snapshot save base', asManagement);
    expect(JSON.parse(saved.stdout)).toMatchObject({ name: 'base', tokens: 1 });
    await create('two');
    expect(await place.vault('dev snapshot load base --yes', asManagement)).toEqual(saved);
    expect(await ids()).toEqual(['one']);
    const listed = await place.vault('dev snapshot list', asManagement);
    expect(JSON.parse(listed.stdout)).toEqual({ data: [JSON.parse(saved.stdout)] });
    const gone = { exitCode: 3, stdout: '', stderr: 'vault: There is no snapshot with this name.\n' };
    for (const [line, result] of [
      ['save base', { exitCode: 6, stdout: '' }],
      ['save base --replace --field tokens', { stdout: '1\n' }],
      ['load base', { exitCode: 2, stderr: expect.stringContaining('--yes') }],
      ['load none --yes', gone],
      ['delete none --yes', gone],
      ['delete base --yes', { stdout: '{"name":"base"}\n' }],
      ['list -q', { exitCode: 0, stdout: '' }],
    ] as const) {
      expect([line, await place.vault(`dev snapshot ${line}`, asManagement)]).toMatchObject([line, result]);
    }
    expect(await place.vault('dev snapshot list', asPrivate)).toMatchObject({ exitCode: 5 });
  });

  it('answers requests in flight before it loads', async () => {
    await ask('POST /dev/snapshots', '{"name":"empty"}');
    const headers = { 'svc-api-key': vault.keys.private_key, 'content-type': 'application/json' };
    const slow = httpRequest(`${vault.url}/tokens`, { method: 'POST', headers });
    slow.write('{"id":"slow","type":"token",');
    await setTimeout(100);
    const order: string[] = [];
    const loaded = ask('POST /dev/snapshots/empty/load').then(({ status }) => order.push(`load ${status}`));
    await setTimeout(300);
    const behind = vault.client.listTokens().then(({ data }) => order.push(`list ${data.length}`));
    slow.end('"data":1}');
    const [response] = await once(slow, 'response');
    order.push(`create ${response.statusCode}`);
    response.resume();
    await Promise.all([loaded, behind]);
    expect([order[0], order.toSorted()]).toEqual(['create 201', ['create 201', 'list 0', 'load 200']]);
  });

  it('answers each request from a single state', async () => {
    const names = Array.from({ length: 20 }, (_none, n) => `token-${n}`);
    await Promise.all(names.map((id) => create(id, 'a')));
    await ask('POST /dev/snapshots', '{"name":"a"}');
    await Promise.all(names.map((id) => vault.client.updateToken({ params: { id }, body: { data: 'b' } })));
    await ask('POST /dev/snapshots', '{"name":"b"}');
    const seen = new Set<string>();
    let isDone = false;
    const reading = Array.from({ length: 4 }, async () => {
      while (!isDone) {
        const { data } = await vault.client.listTokens({ query: { size: 20 } });
        seen.add([...new Set(data.map((token) => token.data))].join());
      }
    });
    for (let turn = 0; turn < 10; turn += 1) {
      expect((await ask(`POST /dev/snapshots/${turn % 2 === 0 ? 'a' : 'b'}/load`)).status).toBe(200);
    }
    isDone = true;
    await Promise.all(reading);
    expect([...seen].toSorted()).toEqual(['a', 'b']);
  });

  it('is gone after a reset', async () => {
    await ask('POST /dev/snapshots', '{"name":"base"}');
    await vault.reset();
    expect((await ask('GET /dev/snapshots')).body).toEqual({ data: [] });
  });

  it.each([
    ['{}', 'name'],
    ['{"name":1}', 'name'],
    ['{"name":"../x"}', 'name'],
    ['{"name":"x","replace":1}', 'replace'],
    ['{"name":"x","other":1}', 'other'],
  ])('rejects saving %s', async (body, member) => {
    const refused = await ask('POST /dev/snapshots', body);
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, [member]]);
  });

  it('keeps serving after a failed load', async () => {
    await create('one');
    expect((await ask('POST /dev/snapshots/none/load')).status).toBe(404);
    expect((await ask('POST /dev/snapshots/A/load')).status).toBe(400);
    expect(await ids()).toEqual(['one']);
  });

  it('loads into a kept file, and works without the daemon', { timeout: 60_000 }, async () => {
    const daemon = await place.serve(['--dev', '--file', 'states.db']);
    const env = { VAULT_URL: daemon.url, VAULT_API_KEY: String(daemon.ready['management_key']) };
    await place.vault('dev snapshot save base', env);
    const asOwn = { ...env, VAULT_API_KEY: String(daemon.ready['private_key']) };
    await place.vault('tokens create --type token --text x --id one', asOwn);
    expect(await place.vault('dev snapshot load base --yes', env)).toMatchObject({ exitCode: 0 });
    expect(await place.vault('tokens get one', asOwn)).toMatchObject({ exitCode: 3 });
    // A daemon has the file open.
    expect(await place.vault('dev snapshot load base --yes --file states.db')).toMatchObject({
      exitCode: 8,
      stderr: expect.stringMatching(/is in use by another process\nhint: stop the daemon/),
    });
    writeFileSync(place.inside('states.db.snapshots/other.db'), 'x'.repeat(8192));
    const refused = await place.vault('dev snapshot list --field data[1].refused', env);
    expect(refused).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('other.db is damaged') });
    expect(await place.vault('dev snapshot load other --yes', env)).toMatchObject({
      exitCode: 9,
      stderr: expect.stringMatching(
        /^vault: The snapshot is damaged; the snapshot list describes the damage\.\nhint: /,
      ),
    });
    expect(await place.vault('tokens create --type token --text x --id two -q', asOwn)).toMatchObject({
      stdout: 'two\n',
    });
    await daemon.stop();
    expect(await place.vault('dev snapshot save base --replace --file states.db --field tokens')).toMatchObject({
      stdout: '1\n',
    });
    expect(await place.vault('dev reset --yes --file states.db')).toMatchObject({ stdout: '{"removed_tokens":1}\n' });
    expect(await place.vault('keys rotate --file states.db --field generation')).toMatchObject({
      stdout: '1\n',
      stderr: 'vault: 2 snapshots still hold the old keys\nhint: delete them with `vault dev snapshot delete`\n',
    });
    expect(await place.vault('dev snapshot load base --yes --file states.db')).toMatchObject({ exitCode: 0 });
    expect(await place.vault('doctor --file states.db --field checked.tokens')).toMatchObject({ stdout: '1\n' });
  });
});

describe('the paths of a --dev daemon', () => {
  it('need a management key', async () => {
    expect((await askPrivately('POST /dev/reset')).status).toBe(403);
    const ended = await place.vault('dev clock reset', asPrivate);
    expect(ended).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('vault env') });
  });

  it('accept only their own methods and members', async () => {
    const wrong = await ask('GET /dev/reset');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await ask('GET /dev/clock/')).status).toBe(200);
    const load = await ask('GET /dev/snapshots/x/load');
    expect([load.status, load.headers.get('allow')]).toEqual([405, 'POST']);
    for (const path of ['other', 'snapshots/x/y', 'snapshots//load']) {
      expect((await ask(`POST /dev/${path}`)).status).toBe(404);
    }
    const refused = async (body: string, method = 'PUT') => codeOf(await ask(`${method} /dev/clock`, body));
    expect(await refused('{')).toBe('malformed_json');
    for (const body of ['[]', '{"now":1}', '{"now":"2030-01-01T00:00:00"}', '{"now":"2030-01-01","x":1}']) {
      expect(await refused(body)).toBe('invalid_request');
    }
    for (const by of ['-1', '1.5', '"1"', '1e300']) {
      expect(await refused(`{"advance_ms":${by}}`, 'POST')).toBe('invalid_request');
    }
    expect(await refused(`{"now":"${'0'.repeat(70_000)}"}`)).toBe('body_too_large');
  });

  it('are not part of the API', async () => {
    expect((await ask('GET /openapi.json')).text).not.toContain('/dev/');
  });

  it('do not exist without --dev, and the commands report that', { timeout: 60_000 }, async () => {
    const key = await place.init('plain');
    const { url } = await place.serve(['--file', 'plain.db']);
    for (const path of ['clock', 'faults', 'requests', 'snapshots', 'snapshots/base/load', 'reset']) {
      const refused = await send(url, `POST /dev/${path}`, key);
      expect([refused.status, codeOf(refused)]).toEqual([404, 'route_not_found']);
    }
    for (const line of ['clock reset', 'faults list', 'requests', 'requests --follow', 'snapshot list']) {
      const ended = await place.vault(`dev ${line}`, { VAULT_URL: url, VAULT_API_KEY: key });
      expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('only a daemon started with --dev') });
    }
  });
});
