import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../src/http/daemon-options.ts';
import { cleanEnvironment } from '../scripts/run-script.ts';
import { type Ended, endOf, makePlace, VAULT_BIN } from './cli-fixture.ts';

const HOUR = 3_600_000;
const SECRET = '4012888888881881';

/**
 * Lets a test shift the wall clock of a daemon by the milliseconds in a file. The vault ignores a clock that a test
 * runner replaced. It recognizes one by the source of the function; a bound function has none.
 */
const SHIFT = `
const { readFileSync } = require('node:fs');
const real = Date.now;
Date.now = (() => real() + Number(readFileSync(process.env.SHIFT_FILE, 'utf8'))).bind();`;

const place = makePlace();
let url = '';
let key = '';
let managementKey = '';
let stop: () => Promise<Ended>;
const shiftClock = (milliseconds: number) => writeFileSync(place.inside('shift'), String(milliseconds));

beforeAll(async () => {
  writeFileSync(place.inside('shift.cjs'), SHIFT);
  shiftClock(0);
  const ready = place.inside('ready.json');
  const words = ['serve', '--dev', '--port', '0', '--ready-file', ready, '--log', 'json'];
  const child = spawn(process.execPath, [VAULT_BIN, ...words], {
    cwd: place.cwd,
    env: cleanEnvironment({
      NODE_OPTIONS: `--require ${JSON.stringify(place.inside('shift.cjs'))}`,
      SHIFT_FILE: place.inside('shift'),
    }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = endOf(child, 60_000);
  while (!existsSync(ready)) {
    if (child.exitCode !== null) throw new Error((await ended).stderr);
    await sleep(20);
  }
  const told = JSON.parse(readFileSync(ready, 'utf8'));
  ({ url, private_key: key, management_key: managementKey } = told);
  stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
});

/** A token, or a problem. */
interface Told {
  readonly id: string;
  readonly errors: Readonly<Record<string, readonly string[]>>;
}

async function post(path: string, body: string, apiKey = key) {
  const headers = { 'svc-api-key': apiKey, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body });
  const told: Told = JSON.parse(await response.text());
  return { status: response.status, body: told };
}
const get = (path: string) => fetch(url + path, { headers: { 'svc-api-key': key } });

const token = (more: string) => `{"type":"token","data":{"n":"${SECRET}"},${more}}`;
const nested = (depth: number) => `{"type":"token","data":${'['.repeat(depth)}${']'.repeat(depth)}}`;

/** Bodies with invalid JSON, text, expressions, regular expressions or privileges. */
const REFUSED: readonly (readonly [row: string, path: string, body: string, member: string | undefined])[] = [
  ['JSON: a repeated member', '/tokens', '{"type":"token","data":{"a":1,"a":2}}', undefined],
  ['JSON: too deep', '/tokens', nested(64), undefined],
  ['JSON: not JSON', '/tokens', `{"type":"token","data":${SECRET}x}`, undefined],
  ['Text: NUL in an id', '/tokens', token('"id":"abc\\u0000"'), 'id'],
  ['Text: C0 in metadata', '/tokens', token('"metadata":{"a":"x\\u001b[2J"}'), 'metadata.a'],
  ['Text: a lone surrogate in metadata', '/tokens', token('"metadata":{"a":"\\ud800"}'), 'metadata.a'],
  ['Text: a control character in a container', '/tokens', token('"containers":["/a\\u0007/"]'), 'containers.0'],
  ['Expressions: a tag', '/tokens', token('"mask":"{% if data %}x{% endif %}"'), 'mask'],
  ['Expressions: a filter that is not allowed', '/tokens', token('"mask":"{{ data | date: \'%Y\' }}"'), 'mask'],
  ['Expressions: a random filter in a mask', '/tokens', token('"mask":"{{ data.n | alias_card }}"'), 'mask'],
  [
    'Regular expressions: none in a JSONPath',
    '/tokens',
    token('"mask":"{{ data | json: \'$[?match(@, \\"(a+)+\\")]\' }}"'),
    'mask',
  ],
  [
    'Privilege: the tenant of another',
    '/tokens',
    token('"tenant_id":"69cbfda3-79e9-4f58-b25f-6f68bd505227"'),
    'tenant_id',
  ],
  ['Privilege: another creator', '/tokens', token('"created_by":"69cbfda3-79e9-4f58-b25f-6f68bd505227"'), 'created_by'],
  [
    'Privilege: a chosen key',
    '/applications',
    '{"name":"n","type":"public","permissions":["token:create"],"key":"k"}',
    'key',
  ],
];

describe('a body that the daemon refuses', () => {
  it.each(REFUSED)('%s', async (_row, path, sent, member) => {
    const { status, body } = await post(path, sent, path === '/tokens' ? key : managementKey);
    expect(status).toBe(400);
    if (member !== undefined) expect(Object.keys(body.errors)).toEqual([member]);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });
});

describe('plain data is returned unchanged', () => {
  it.each([
    ['members with the names of JavaScript', '{"__proto__":{"admin":true},"constructor":1,"toString":2}'],
    ['control characters and lone surrogates', '"a\\u0000b\\u001b\\ud800"'],
    ['the maximum depth', `${'['.repeat(63)}${']'.repeat(63)}`],
  ])('%s', async (_what, data) => {
    const { status, body } = await post('/tokens', `{"type":"token","data":${data}}`);
    expect(status).toBe(201);
    expect(await (await get(`/tokens/${body.id}`)).text()).toContain(`"data":${data}`);
  });

  it('an expression sees own members only', async () => {
    const { body } = await post('/tokens', '{"type":"token","data":{},"search_indexes":["{{ data.constructor }}"]}');
    expect(Object.keys(body.errors)).toEqual(['search_indexes.0']);
  });
});

it('has the documented timeouts for slow clients', () => {
  expect(DEFAULT_TIMEOUTS).toMatchObject({ headers: 10_000, request: 30_000, check: 1_000, keepAlive: 65_000 });
  expect(DEFAULT_TIMEOUTS.stop).toBeLessThan(10_000);
});

describe('the wall clock', () => {
  it('hides a token that has ended by it, and shows it again once a jump is undone', async () => {
    const ends = new Date(Date.now() + 2 * HOUR).toISOString();
    const { status, body } = await post('/tokens', token(`"expires_at":"${ends}"`));
    const { body: lasting } = await post('/tokens', token('"metadata":{"a":"lasting"}'));
    const statusOf = async (id: string) => (await get(`/tokens/${id}`)).status;
    expect([status, await statusOf(body.id)]).toEqual([201, 200]);
    shiftClock(2 * HOUR - 60_000);
    expect(await statusOf(body.id)).toBe(200);
    shiftClock(2 * HOUR);
    expect(await statusOf(body.id)).toBe(404);
    const listed = await (await get('/tokens?size=100')).text();
    expect([listed.includes(body.id), listed.includes(lasting.id)]).toEqual([false, true]);
    for (const back of [0, -24 * HOUR]) {
      shiftClock(back);
      expect(await statusOf(body.id)).toBe(200);
      expect(await statusOf(lasting.id)).toBe(200);
    }
  });
});

it('the log contains nothing that clients sent', async () => {
  const { stderr } = await stop();
  expect(stderr.split('\n').filter((line) => line.startsWith('{')).length).toBeGreaterThan(20);
  expect(stderr).not.toMatch(new RegExp(`${SECRET}|__proto__|${key}|${managementKey}|metadata|/pci/`));
});
