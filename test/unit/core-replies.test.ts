import { beforeEach, describe, expect, it } from 'vitest';
import { MAX_DATA, MAX_DEFINITION, MIN_RESPONSE } from '../../src/contract/limits.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { type Core, idsOf, openCore, tenantsWith, wrongPaths } from './core-fixture.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore();
});

/** An id that no record has. */
const NOBODY = '00000000-0000-4000-8000-000000000000';

const ROWS = Object.entries<Operation>(OPERATIONS) as [OperationId, Operation][];

describe('every operation', () => {
  it.each(ROWS.filter(([, row]) => row.body))('%s: accepts only its own content type', async (id, row) => {
    const key = row.permission?.startsWith('token:') ? core.key : core.management;
    // An optional body that is empty has no content type.
    const bodyText = row.bodyOptional ? '{"expires_at":"2100-01-01"}' : '{}';
    const target = { id: NOBODY, bodyText };
    for (const mediaType of [
      'text/plain',
      'application/json-patch+json',
      'application/x-www-form-urlencoded',
      '',
      undefined,
    ]) {
      expect((await core.call(key, id, { ...target, mediaType })).status).toBe(415);
    }
    const latin = `${row.mediaType ?? 'application/json'}; charset=latin1`;
    expect((await core.call(key, id, { ...target, mediaType: latin })).status).toBe(415);
    const right = `${row.mediaType ?? 'application/json'}; charset=utf-8`;
    for (const mediaType of [right, right.toUpperCase().replace('UTF-8', '"UTF-8"')]) {
      expect((await core.call(key, id, { ...target, mediaType })).status).not.toBe(415);
    }
  });
});

describe('limits (decisions §9, §8 of the specification)', () => {
  it('an unknown member is named even when JavaScript gives its name a meaning', async () => {
    const named = async (operation: OperationId, bodyText: string) => {
      const { status, text } = await core.call(operation === 'updateTenant' ? core.management : core.key, operation, {
        ...(operation === 'updateToken' && { id: 'any' }),
        bodyText,
      });
      expect(status).toBe(400);
      return text;
    };
    const told = '"errors":{"__proto__":["is not a known member"]}';
    expect(await named('createToken', '{"type":"token","data":1,"__proto__":{}}')).toContain(told);
    expect(await named('updateToken', '{"__proto__":1}')).toContain(told);
    expect(await named('updateTenant', '{"name":"n","__proto__":null}')).toContain(told);
    expect((await core.own('listTokens', { query: '__proto__=1' })).text).toContain('"errors":{"__proto__":[');
  });

  it('a body of 1 MiB is accepted; one byte more is 413', async () => {
    const bodyText = (size: number) => {
      const [head, tail] = ['{"type":"token","data":"', '"}'];
      return `${head}${'x'.repeat(size - head.length - tail.length)}${tail}`;
    };
    expect((await core.own('createToken', { bodyText: bodyText(2 ** 20) })).status).toBe(201);
    expect((await core.own('createToken', { bodyText: bodyText(2 ** 20 + 1) })).status).toBe(413);
  });

  it('a response above 16 MiB asks for a smaller page', async () => {
    const data = 'x'.repeat(2 ** 20 - 100);
    for (let index = 0; index < 17; index++) await core.token({ type: 'token', data });
    const answer = await core.own('listTokens');
    expect(wrongPaths(answer)).toEqual(['size']);
    expect((await core.own('listTokens', { query: 'size=5' })).status).toBe(200);
  });

  it('the largest token fits the smallest response limit', { timeout: 30_000 }, async () => {
    const small = await openCore({ limits: { response: MIN_RESPONSE, body: MIN_RESPONSE } });
    const mask = { text: 'm'.repeat(MAX_DEFINITION - 300_000), data: '{{ data.a }}' };
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`${index}`.padEnd(128, 'k'), '\u20ac'.repeat(1024)]),
    );
    const data = { a: '"'.repeat(60_000), b: 'x'.repeat(MAX_DATA - 130_000) };
    const id = await small.token({ type: 'token', data, mask, metadata });
    const masking = await small.application({ name: 'm', type: 'private', permissions: ['token:read'] });
    for (const key of [small.key, masking]) expect((await small.call(key, 'listTokens')).status).toBe(200);
    expect((await small.own('updateToken', { id, body: {} })).status).toBe(200);
  });
});

beforeEach(async () => {
  core = await openCore();
});

const list = (query = '') => core.own('listTokens', { query });

describe('pagination (§2.9, decisions §2)', () => {
  it('an empty list is page 1 of 0', async () => {
    const answer = await list();
    const pagination = { total_items: 0, page_number: 1, page_size: 20, total_pages: 0 };
    expect(JSON.parse(answer.text)).toEqual({ pagination, data: [] });
  });

  it.each(['page=-1', 'page=1.5', 'page=', 'size=1e1', 'size= 1', 'page=99999999999999999999', 'size=5&size=5'])(
    '%s is refused, by both lists',
    async (query) => {
      const name = query.slice(0, 4);
      expect(wrongPaths(await list(query))).toEqual([name]);
      expect(wrongPaths(await core.manage('listApplications', { query }))).toEqual([name]);
    },
  );
});

describe('List Tokens (§4.1)', () => {
  it('the metadata key is everything after the first dot; a repeated key keeps its first value', async () => {
    const id = await core.token({ type: 'token', data: 1, metadata: { 'a.b': 'X', c: 'y' } });
    await core.token({ type: 'token', data: 2, metadata: { a: 'x', c: 'z' } });
    expect(idsOf(await list('metadata.a.b=x'))).toEqual([id]);
    expect(idsOf(await list('metadata.c=Y&metadata.c=z'))).toEqual([id]);
    expect(idsOf(await list('metadata.a.b=x&metadata.c=z'))).toEqual([]);
    expect(idsOf(await list('metadata.C=y'))).toEqual([]);
    expect(idsOf(await list('metadata.a.b='))).toEqual([]);
  });

  it('a token with other metadata is not shown when its blind index collides', async () => {
    // A blind index has 16 bytes, so two values may collide. Those of metadata always do in this vault.
    const one = new Uint8Array(16);
    const keyringOf = tenantsWith(({ blindIndex }) => ({
      blindIndex: (purpose, value) => (purpose === 'metadata' ? one : blindIndex(purpose, value)),
    }));
    const colliding = await openCore({ keyringOf });
    const id = await colliding.token({ type: 'token', data: 1, metadata: { tag: 'a' } });
    await colliding.token({ type: 'token', data: 2, metadata: { tag: 'b' } });
    expect(idsOf(await colliding.own('listTokens', { query: 'metadata.tag=a' }))).toEqual([id]);
  });
});
