import { Pool } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OPERATIONS } from '../../src/contract/operations.ts';
import { PROBLEM_TYPE_PREFIX, type ProblemCode } from '../../src/contract/problems.ts';
import { type Daemon, startDaemon } from '../../src/http/daemon.ts';
import { atEndOfSuite } from '../temporary-folder.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';
import { daemonOptions } from './http-fixture.ts';

const atEnd = atEndOfSuite();
let opened: TestVault;
let daemon: Daemon;
let pool: Pool;
let writer: string;

beforeAll(async () => {
  opened = await openTestVault('http', { atEnd });
  writer = await opened.application({
    name: 'writer',
    type: 'private',
    permissions: ['token:create', 'token:read', 'token:delete'],
  });
  const { limits } = opened.vault;
  daemon = await startDaemon(
    opened.client,
    daemonOptions({ limits, ready: () => opened.vault.ready(), timeouts: { linger: 200 } }),
  );
  pool = new Pool(daemon.url);
});

afterAll(async () => {
  await pool.close();
  await daemon.stop();
});

interface Sent {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly key?: string;
  readonly type?: string;
  readonly coding?: string;
  readonly body?: string | Buffer;
}

async function send({ method, path, key, type, coding, body }: Sent) {
  const reply = await pool.request({
    method,
    path,
    headers: {
      'svc-trace-id': 'same',
      ...(key !== undefined && { 'svc-api-key': key }),
      ...(type !== undefined && { 'content-type': type }),
      ...(coding !== undefined && { 'content-encoding': coding }),
    },
    ...(body !== undefined && { body }),
  });
  return { status: reply.statusCode, text: await reply.body.text() };
}

const TOKEN = JSON.stringify({ type: 'token', data: { n: 1 }, id: 'abc def' });

test('a reply over HTTP equals the reply of the vault, byte for byte', async () => {
  const created = await send({ method: 'POST', path: '/tokens/', key: writer, type: 'application/json', body: TOKEN });
  expect(created.status).toBe(201);
  for (const [path, operation, params] of [
    ['/tokens/abc%20def', 'getToken', { id: 'abc def' }],
    ['/tokens/nothing', 'getToken', { id: 'nothing' }],
    ['/tenants/self', 'getTenant', {}],
  ] as const) {
    const direct = await opened.client.call({ operation, apiKey: writer, params, query: [], traceId: 'same' });
    expect(await send({ method: 'GET', path, key: writer })).toEqual({ status: direct.status, text: direct.bodyText });
  }
});

describe('the order of checks holds over HTTP', () => {
  const large = () => Buffer.alloc(opened.vault.limits.body + 1, ' ');
  const json = 'application/json';

  test.each<readonly [string, () => Omit<Sent, 'method' | 'path'>, ProblemCode]>([
    ['401 before all others', () => ({ type: 'text/plain', body: large() }), 'unauthenticated'],
    ['403 before 413', () => ({ key: opened.management, type: json, body: large() }), 'permission_missing'],
    ['415 before 413', () => ({ key: writer, type: 'text/plain', body: large() }), 'unsupported_media_type'],
    ['415 for a coding', () => ({ key: writer, type: json, coding: 'gzip', body: TOKEN }), 'unsupported_media_type'],
    ['413', () => ({ key: writer, type: json, body: large() }), 'body_too_large'],
    ['400 for invalid UTF-8', () => ({ key: writer, type: json, body: Buffer.from([34, 255, 34]) }), 'malformed_json'],
    ['409 after a byte order mark', () => ({ key: writer, type: json, body: `\ufeff${TOKEN}` }), 'token_id_taken'],
    ['400 for invalid JSON', () => ({ key: writer, type: json, body: '{' }), 'malformed_json'],
    ['409', () => ({ key: writer, type: json, coding: 'Identity', body: TOKEN }), 'token_id_taken'],
  ])('%s', async (_name, parts, code) => {
    const { text } = await send({ method: 'POST', path: '/tokens', ...parts() });
    expect(JSON.parse(text)).toMatchObject({ type: PROBLEM_TYPE_PREFIX + code, instance: 'same' });
  });
});

describe('a path with invalid encoding is reported after 401 and 403', () => {
  test.each<readonly [Sent['method'], string]>([
    ['GET', '/tokens/%zz'],
    ['DELETE', '/tokens/%e0%a4/'],
    ['GET', '/tokens/%?size=1'],
  ])('%s %s', async (method, path) => {
    expect((await send({ method, path })).status).toBe(401);
    expect((await send({ method, path, key: 'key_unknown' })).status).toBe(401);
    expect((await send({ method, path, key: opened.management })).status).toBe(403);
    const { status, text } = await send({ method, path, key: writer });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      type: `${PROBLEM_TYPE_PREFIX}invalid_request`,
      errors: { id: ['is not validly percent-encoded'] },
    });
  });

  test('an unknown path is rejected without a key', async () => {
    expect((await send({ method: 'GET', path: '/nowhere/%zz' })).status).toBe(400);
    expect((await send({ method: 'POST', path: '/tokens/%zz' })).status).toBe(400);
  });
});

test('an operation without a body accepts any content type without bytes', async () => {
  const deleted = await send({ method: 'DELETE', path: '/tokens/abc%20def', key: writer, type: 'application/json' });
  expect(deleted).toEqual({ status: OPERATIONS.deleteToken.status, text: '' });
  const listed = await send({ method: 'GET', path: '/applications', key: opened.management });
  const { id } = JSON.parse(listed.text).data[0];
  const form = 'application/x-www-form-urlencoded';
  const path = `/applications/${id}/regenerate`;
  const regenerated = await send({ method: 'POST', path, key: opened.management, type: form, body: '' });
  expect(regenerated.status).toBe(200);
});
