import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../src/http/daemon-options.ts';
import { type Served, startServe } from '../scripts/run-script.ts';
import { makePlace, send } from './cli-fixture.ts';

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
let daemon: Served;
let key = '';
const shiftClock = (milliseconds: number) => writeFileSync(place.inside('shift'), String(milliseconds));

beforeAll(async () => {
  writeFileSync(place.inside('shift.cjs'), SHIFT);
  shiftClock(0);
  daemon = await startServe(place.cwd, ['--dev', '--log', 'json'], {
    env: {
      NODE_OPTIONS: `--require ${JSON.stringify(place.inside('shift.cjs'))}`,
      SHIFT_FILE: place.inside('shift'),
    },
  });
  key = String(daemon.ready['private_key']);
});

const post = (body: string) => send(daemon.url, 'POST /tokens', key, body);
const get = (path: string) => send(daemon.url, `GET ${path}`, key);

const token = (more: string) => `{"type":"token","data":{"n":"${SECRET}"},${more}}`;

/** Bodies with invalid JSON, text, expressions, regular expressions or privileges, and the member that is refused. */
const REFUSED: readonly (readonly [body: string, member?: string])[] = [
  ['{"type":"token","data":{"a":1,"a":2}}'],
  [`{"type":"token","data":${'['.repeat(64)}${']'.repeat(64)}}`],
  [`{"type":"token","data":${SECRET}x}`],
  [token('"id":"abc\\u0000"'), 'id'],
  [token('"metadata":{"a":"x\\u001b[2J"}'), 'metadata.a'],
  [token('"metadata":{"a":"\\ud800"}'), 'metadata.a'],
  [token('"containers":["/a\\u0007/"]'), 'containers.0'],
  [token('"mask":"{% if data %}x{% endif %}"'), 'mask'],
  [token('"mask":"{{ data | date: \'%Y\' }}"'), 'mask'],
  [token('"mask":"{{ data.n | alias_card }}"'), 'mask'],
  [token('"mask":"{{ data | json: \'$[?match(@, \\"(a+)+\\")]\' }}"'), 'mask'],
  [token('"search_indexes":["{{ data.constructor }}"]'), 'search_indexes.0'],
  [token('"tenant_id":"69cbfda3-79e9-4f58-b25f-6f68bd505227"'), 'tenant_id'],
  [token('"created_by":"69cbfda3-79e9-4f58-b25f-6f68bd505227"'), 'created_by'],
];

it.each(REFUSED.map(([sent, member]) => ({ sent, member })))('refuses $sent', async ({ sent, member }) => {
  const { status, body } = await post(sent);
  expect(status).toBe(400);
  if (member !== undefined) expect(Object.keys(body.errors)).toEqual([member]);
  expect(JSON.stringify(body)).not.toContain(SECRET);
});

it('returns members with the names of JavaScript and control characters unchanged', async () => {
  const data = '{"__proto__":{"admin":true},"constructor":1,"toString":"a\\u0000b\\u001b\\ud800"}';
  const { body } = await post(`{"type":"token","data":${data}}`);
  expect((await get(`/tokens/${body.id}`)).text).toContain(`"data":${data}`);
});

it('has the documented timeouts for slow clients', () => {
  expect(DEFAULT_TIMEOUTS).toMatchObject({ headers: 10_000, request: 30_000, check: 1_000, keepAlive: 65_000 });
  expect(DEFAULT_TIMEOUTS.stop).toBeLessThan(10_000);
});

describe('the wall clock', () => {
  it('hides a token that has ended by it, and shows it again once a jump is undone', async () => {
    const ends = new Date(Date.now() + 2 * HOUR).toISOString();
    const { status, body } = await post(token(`"expires_at":"${ends}"`));
    const { body: lasting } = await post(token('"metadata":{"a":"lasting"}'));
    const statusOf = async (id: string) => (await get(`/tokens/${id}`)).status;
    expect([status, await statusOf(body.id)]).toEqual([201, 200]);
    shiftClock(2 * HOUR - 60_000);
    expect(await statusOf(body.id)).toBe(200);
    shiftClock(2 * HOUR);
    expect(await statusOf(body.id)).toBe(404);
    const { text: listed } = await get('/tokens?size=100');
    expect([listed.includes(body.id), listed.includes(lasting.id)]).toEqual([false, true]);
    for (const back of [0, -24 * HOUR]) {
      shiftClock(back);
      expect(await statusOf(body.id)).toBe(200);
      expect(await statusOf(lasting.id)).toBe(200);
    }
  });
});

it('the log contains nothing that clients sent', async () => {
  await daemon.stop();
  const stderr = daemon.told();
  expect(stderr.split('\n').filter((line) => line.startsWith('{')).length).toBeGreaterThan(15);
  expect(stderr).not.toMatch(new RegExp(`${SECRET}|__proto__|${key}|metadata|/a`));
});
