import { Agent, RetryAgent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PROBLEM_TYPE_PREFIX } from '../../src/contract/problems.ts';
import { startVault, type TestVault } from '../../src/testing/start-vault.ts';
import { startServe } from '../scripts/run-script.ts';
import { makePlace } from './cli-fixture.ts';

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

const send = (path: string, method = 'GET', key: string | undefined = vault.keys.management_key, body?: string) =>
  fetch(`${vault.url}${path}`, {
    method,
    ...(body !== undefined && { body }),
    headers: { ...(key !== undefined && { 'svc-api-key': key }) },
  });
const codeOf = async (response: Response) =>
  ((await response.json()) as { readonly type: string }).type.slice(PROBLEM_TYPE_PREFIX.length);

describe('vault clock', () => {
  it('advances: what expires tomorrow is gone now, and does not come back when the clock does', async () => {
    await vault.client.createToken({ body: { id: 'short', type: 'token', data: 1, expires_at: inTime(DAY) } });
    await vault.client.createToken({ body: { id: 'long', type: 'token', data: 1, expires_at: inTime(2 * DAY) } });
    const advanced = await place.vault('clock advance 25h', asManagement);
    expect(JSON.parse(advanced.stdout)).toMatchObject({ offset_ms: 25 * 60 * 60 * 1000, removed: 1 });
    expect(await place.vault('tokens get short', asPrivate)).toMatchObject({ exitCode: 3 });
    expect(await place.vault('tokens get long -q', asPrivate)).toMatchObject({ stdout: 'long\n' });
    const reset = await place.vault('clock reset', asManagement);
    expect(JSON.parse(reset.stdout)).toMatchObject({ offset_ms: 0, removed: 0 });
    expect(await place.vault('tokens get short', asPrivate)).toMatchObject({ exitCode: 3 });
    const again = vault.client.createToken({ body: { id: 'short', type: 'token', data: 1 } });
    await expect(again).rejects.toMatchObject({ code: 'token_id_taken' });
  });

  it('is set: what is created then has that time', async () => {
    const set = await place.vault('clock set 2031-05-06T07:08:09Z --field now', asManagement);
    expect(set.stdout).toMatch(/^2031-05-06T07:08:(09|1\d)/);
    const { created_at } = await vault.client.createToken({ body: { type: 'token', data: 1 } });
    expect(created_at).toMatch(/^2031-05-06T07:08:/);
    const days = await place.vault('clock advance 1.5d --field now', asManagement);
    expect(days.stdout).toMatch(/^2031-05-07T19:08:/);
    await vault.clock.set(new Date('2001-01-01T00:00:00Z'));
    expect((await vault.clock.now()).toISOString()).toMatch(/^2001-01-01T00:00:0/);
  });

  it('ends expiring applications, too', async () => {
    const { key = '' } = await vault.management.createApplication({
      body: {
        name: 'e',
        type: 'expiring',
        expires_at: inTime(DAY / 2),
        rules: [
          {
            description: 'all',
            priority: 1,
            transform: 'reveal',
            permissions: ['token:read'],
            conditions: [{ attribute: 'id', operator: 'equals', value: 'a' }],
          },
        ],
      },
    });
    expect((await send('/tokens', 'GET', key)).status).toBe(200);
    await vault.clock.advance(DAY);
    expect((await send('/tokens', 'GET', key)).status).toBe(401);
    await vault.clock.reset();
    expect((await send('/tokens', 'GET', key)).status).toBe(401);
  });

  it('ends before the year 10000', async () => {
    const ended = await place.vault('clock advance 9999999d', asManagement);
    expect(ended).toMatchObject({ exitCode: 7, stderr: expect.stringContaining('vault:   <duration>: must be') });
  });

  it.each([
    ['a time ago', ['clock', 'set', '25h'], 'ISO 8601'],
    ['no such day', ['clock', 'set', '2030-02-31T25:00'], 'not a valid time'],
    ['no duration', ['clock', 'advance', 'tomorrow'], 'duration'],
    ['a day that there is not', ['clock', 'set', '2030-02-30'], '2030-02-30 is not a valid time'],
    [
      'a step back',
      ['clock', 'advance', '-1h'],
      'the clock advances forward only: 90s, 15m, 25h, 30d\nhint: forward: ',
    ],
    ['a step back behind --', ['clock', 'advance', '--', '-1h'], 'the clock advances forward only'],
    ['a step back to set', ['clock', 'set', '-1h'], 'the time must be ISO 8601: 2030-01-31'],
    ['a year', ['clock', 'advance', '1y'], 'a duration such as 90s, 15m, 25h or 30d'],
    ['an unknown flag', ['clock', 'advance', '--fast', '1h'], "unknown option '--fast'"],
    ['no daemon', ['--file', 'v.db', 'clock', 'reset'], 'needs a running `vault serve --dev`'],
  ])('refuses %s', async (_what, words, fact) => {
    const ended = await place.vault(words, words.includes('--file') ? {} : asManagement);
    expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(fact) });
    expect((await vault.clock.now()).getTime()).toBeLessThan(Date.now() + 60_000);
  });

  it('removes what has expired from a kept file, and the audit says so', { timeout: 60_000 }, async () => {
    const daemon = await startServe(place.cwd, ['--dev', '--file', 'kept.db']);
    const url = String(daemon.ready['url']);
    const create = ['tokens', 'create', '--type', 'token', '--text', 'x', '--id', 'old', '--expires-at', inTime(DAY)];
    await place.vault(create, { VAULT_URL: url, VAULT_API_KEY: String(daemon.ready['private_key']) });
    const env = { VAULT_URL: url, VAULT_API_KEY: String(daemon.ready['management_key']) };
    expect(await place.vault('clock advance 25h --field removed', env)).toMatchObject({ stdout: '1\n' });
    const response = await fetch(`${url}/dev/reset`, { method: 'POST', headers: { 'svc-api-key': env.VAULT_API_KEY } });
    expect(response.status).toBe(404);
    await daemon.stop();
    const audit = await place.vault('audit list --file kept.db -o json');
    expect(audit.stdout).toContain('"expireToken"');
    expect(await place.vault('doctor --file kept.db')).toMatchObject({ exitCode: 0 });
  });
});

describe('vault faults', () => {
  const create = JSON.stringify({ type: 'token', data: 1 });

  it('a client that tries again passes two 429s on its third try', async () => {
    const set = ['faults', 'set', 'POST /tokens', '--status', '429', '--times', '2', '--retry-after', '0s'];
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

  it('control: one try fewer does not', async () => {
    await vault.faults.set({ request: 'POST /tokens', status: 429, times: 2 });
    const tries = [];
    for (let i = 0; i < 2; i++) tries.push(await send('/tokens', 'POST', vault.keys.private_key, create));
    expect(tries.map(({ status }) => status)).toEqual([429, 429]);
    expect(tries[0]?.headers.get('retry-after')).toBe('1');
    expect(tries[0]?.headers.get('content-type')).toBe('application/problem+json');
    expect(await (tries[0] as Response).json()).toMatchObject({
      type: `${PROBLEM_TYPE_PREFIX}too_many_requests`,
      status: 429,
      instance: tries[0]?.headers.get('svc-trace-id'),
    });
    expect((await vault.client.listTokens()).pagination.total_items).toBe(0);
  });

  it('a delayed request is answered as ever, later', async () => {
    await place.vault(`faults set 'GET /tokens' --delay 150ms`, asManagement);
    const started = performance.now();
    expect((await vault.client.listTokens()).data).toEqual([]);
    expect(performance.now() - started).toBeGreaterThan(140);
  });

  it('a delayed body arrives whole', async () => {
    await vault.faults.set({ request: 'POST /tokens', delay_ms: 50 });
    const data = 'x'.repeat(200_000);
    const { id } = await vault.client.createToken({ body: { type: 'token', data } });
    expect((await vault.client.getToken({ params: { id } })).data).toBe(data);
  });

  it('a dropped request has no answer', async () => {
    await place.vault(`faults set '* /tokens/{id}' --drop`, asManagement);
    await expect(send('/tokens/a')).rejects.toThrow('fetch failed');
    expect((await send('/tokens/a', 'GET', vault.keys.private_key)).status).toBe(404);
  });

  it('list and clear', async () => {
    await place.vault(`faults set 'GET /tokens' --status 503 --times 3`, asManagement);
    const listed = await place.vault('faults list -o csv', asManagement);
    expect(listed.stdout).toContain('GET /tokens,503');
    expect((await place.vault('faults clear', asManagement)).stdout).toBe('{"data":[]}\n');
    expect((await send('/tokens', 'GET', vault.keys.private_key)).status).toBe(200);
  });

  it.each([
    ['nothing to happen', ['GET /tokens'], 2, '--status'],
    ['two things at once', ['GET /tokens', '--status', '500', '--drop'], 2, '--drop'],
    ['no number', ['GET /tokens', '--status', 'many'], 2, '--status'],
    ['a path that is not of the API', ['GET /tokenz', '--drop'], 7, 'a path of the API'],
    ['a status that no problem has', ['GET /tokens', '--status', '418'], 7, 'vault:   --status: must be one of'],
    [
      'a delay that no client waits for',
      ['GET /tokens', '--delay', '60s'],
      7,
      'vault:   --delay: must be a whole number of milliseconds from 0 to 25000',
    ],
    ['no times', ['GET /tokens', '--drop', '--times', '0'], 7, 'vault:   --times: must be a whole number from 1'],
    ['a method that there is not', ['GTE /tokens', '--drop'], 7, 'vault:   <request>: must be a method'],
  ])('refuses %s', async (_what, words, exitCode, fact) => {
    const ended = await place.vault(['faults', 'set', ...words], asManagement);
    expect(ended).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(fact) });
    expect(await vault.faults.list()).toEqual([]);
  });
});

describe('the paths of a --dev daemon', () => {
  it.each([
    ['no key', undefined, 401],
    ['an unknown key', 'key_x', 401],
  ])('%s: %s', async (_what, key, status) => {
    const response = await fetch(`${vault.url}/dev/clock`, {
      headers: key === undefined ? {} : { 'svc-api-key': key },
    });
    expect(response.status).toBe(status);
  });

  it('are for management keys', async () => {
    expect((await send('/dev/reset', 'POST', vault.keys.private_key)).status).toBe(403);
    const ended = await place.vault('clock reset', asPrivate);
    expect(ended).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('vault env') });
  });

  it('take no day that there is not', async () => {
    for (const now of ['2030-02-30T00:00:00Z', '2029-02-29T12:00:00Z', '2030-13-01T00:00:00Z']) {
      await expect(vault.clock.set(now)).rejects.toThrow('must be an ISO 8601 time');
    }
    expect((await vault.clock.set('2028-02-29T00:00:00Z')).toISOString()).toMatch(/^2028-02-29/);
    await vault.clock.reset();
  });

  it('answer their methods only, and take what they know only', async () => {
    const wrong = await send('/dev/reset', 'GET');
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await send('/dev/clock/')).status).toBe(200);
    expect((await send('/dev/other')).status).toBe(404);
    const refused = async (body: string, method = 'PUT') => codeOf(await send('/dev/clock', method, undefined, body));
    expect(await refused('{')).toBe('malformed_json');
    for (const body of ['[]', '{"now":1}', '{"now":"2030-01-01T00:00:00"}', '{"now":"2030-01-01","x":1}']) {
      expect(await refused(body)).toBe('invalid_request');
    }
    for (const by of ['-1', '1.5', '"1"', '1e300']) {
      expect(await refused(`{"advance_ms":${by}}`, 'POST')).toBe('invalid_request');
    }
    expect(await refused(`{"now":"${'0'.repeat(70_000)}"}`)).toBe('body_too_large');
  });

  it('are no part of the API', async () => {
    expect(await (await send('/openapi.json')).text()).not.toContain('/dev/');
  });

  it('are not there without --dev, and the commands say so', { timeout: 60_000 }, async () => {
    const key = await place.init('plain');
    const daemon = await startServe(place.cwd, ['--file', 'plain.db']);
    const url = String(daemon.ready['url']);
    for (const path of ['clock', 'faults', 'reset']) {
      const response = await fetch(`${url}/dev/${path}`, { method: 'POST', headers: { 'svc-api-key': key } });
      expect([response.status, await codeOf(response)]).toEqual([404, 'route_not_found']);
    }
    for (const words of [
      ['clock', 'reset'],
      ['clock', 'advance', '1h'],
      ['clock', 'set', '2030-01-01'],
      ['faults', 'list'],
      ['faults', 'clear'],
      ['faults', 'set', 'GET /tokens', '--drop'],
    ]) {
      const ended = await place.vault(words, { VAULT_URL: url, VAULT_API_KEY: key });
      expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('only a daemon started with --dev') });
    }
    await daemon.stop();
  });
});
