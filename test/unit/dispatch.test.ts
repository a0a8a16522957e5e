import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { SentBody } from '../../src/contract/call.ts';
import { openTestVault, type TestVault } from '../test-vault.ts';

const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
const ALL_TOKENS = ['token:create', 'token:read', 'token:delete'];

let world: TestVault;
let key: string;

beforeEach(async () => {
  world = await openTestVault();
  key = await world.application({ name: 'app', type: 'private', permissions: ALL_TOKENS });
});

describe('the order of errors (decisions §1)', () => {
  const everythingWrong = { bodyText: '{ broken', mediaType: 'text/plain' };

  it('401 comes first and is the same for every cause', async () => {
    const body = { name: 'x', type: 'public', permissions: ['token:create'] };
    const made = await world.call(world.management, 'createApplication', { body });
    const regenerated = String(made.at('key'));
    const id = String(made.at('id'));
    await world.call(world.management, 'regenerateApplicationKey', { id });
    const unknown = `${key.slice(0, -8)}${key.slice(-8) === '11111111' ? '22222222' : '11111111'}`;
    const causes = [undefined, '', 'nonsense', unknown, regenerated, key.toLowerCase()];
    const answers = await Promise.all(causes.map((cause) => world.call(cause, 'createToken', everythingWrong)));
    expect(answers.map(({ status }) => status)).toEqual(causes.map(() => 401));
    const bodies = answers.map(({ text }) => text.replace(/"instance":"[^"]*"/, ''));
    expect(new Set(bodies).size).toBe(1);
  });

  it('403 for a permission held nowhere comes before 415', async () => {
    const answer = await world.call(world.management, 'createToken', everythingWrong);
    expect(answer.status).toBe(403);
    expect(answer.at('detail')).toContain('token:create');
  });

  it('400 comes before 403 for a container out of reach, which comes before 409', async () => {
    const rule = { description: '', priority: 1, container: '/pci/', transform: 'mask', permissions: ['token:create'] };
    const pci = await world.application({ name: 'pci', type: 'private', rules: [rule] });
    const token = { type: 'token', data: 'x', id: 'taken-id' };
    await world.call(key, 'createToken', { body: token });
    expect((await world.call(pci, 'createToken', { body: { ...token, nonsense: 1 } })).status).toBe(400);
    expect((await world.call(pci, 'createToken', { body: token })).status).toBe(403);
    expect((await world.call(pci, 'createToken', { body: { ...token, containers: ['/pci/'] } })).status).toBe(409);
  });

  it('404 comes before 403 for a token that no rule reaches', async () => {
    const rule = { description: '', priority: 1, container: '/pci/', transform: 'mask', permissions: ['token:read'] };
    const pci = await world.application({ name: 'pci', type: 'private', rules: [rule] });
    const made = await world.call(key, 'createToken', { body: { type: 'token', data: 'x' } });
    expect((await world.call(pci, 'getToken', { id: String(made.at('id')) })).status).toBe(403);
    expect((await world.call(pci, 'getToken', { id: 'nothing-here' })).status).toBe(404);
  });
});

describe('a body that the transport has not read yet', () => {
  const token = { bodyText: '{"type":"token","data":1}' };
  const call = (apiKey: string | undefined, mediaType: string, readBody: () => SentBody | Promise<SentBody>) =>
    world.client.call({ operation: 'createToken', apiKey, mediaType, params: {}, query: [], readBody });

  it('is read after 401, 403 and 415 and before 400', async () => {
    const readBody = vi.fn(() => ({ bodyText: '{ broken' }));
    const json = 'application/json';
    const refused = [
      call('bad', json, readBody),
      call(world.management, json, readBody),
      call(key, 'text/plain', readBody),
    ];
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([401, 403, 415]);
    expect(readBody).not.toHaveBeenCalled();
    expect((await call(key, json, readBody)).status).toBe(400);
    expect(readBody).toHaveBeenCalledOnce();
  });

  it('counts as sent text for an operation without a body', async () => {
    const base = { operation: 'listTokens', apiKey: key, mediaType: 'text/plain', params: {}, query: [] } as const;
    const status = async (sent: SentBody) => (await world.client.call({ ...base, readBody: async () => sent })).status;
    const sent: readonly SentBody[] = [
      {},
      { bodyText: '{}' },
      { bodyText: '{"a":1}' },
      { bodyFault: 'not_utf8' },
      { bodyFault: 'too_large' },
    ];
    expect(await Promise.all(sent.map(status))).toEqual([200, 200, 400, 400, 413]);
  });

  it('is rejected when the key ends while the body arrives', async () => {
    const { id, key: other } = await named();
    const reading = async () => {
      await world.call(world.management, 'regenerateApplicationKey', { id });
      return token;
    };
    expect((await call(other, 'application/json', reading)).status).toBe(401);
  });

  it('is rejected when the permission ends while the body arrives', async () => {
    const { id, key: other } = await named();
    const reading = async () => {
      const body = { name: 'named', permissions: ['token:read'] };
      expect((await world.call(world.management, 'updateApplication', { id, body })).status).toBe(200);
      return token;
    };
    expect((await call(other, 'application/json', reading)).bodyText).toContain('permission_missing');
    expect((await call(key, 'application/json', async () => token)).status).toBe(201);
  });

  async function named() {
    const body = { name: 'named', type: 'private', permissions: ALL_TOKENS };
    const made = await world.call(world.management, 'createApplication', { body });
    return { id: String(made.at('id')), key: String(made.at('key')) };
  }
});

describe('a 400 names the member', () => {
  const cases: readonly (readonly [what: string, body: unknown, path: string, says: RegExp])[] = [
    ['an unknown member', { type: 'token', data: 1, metdata: {} }, 'metdata', /did you mean metadata\?/],
    ['a wrong type', { type: 'token', data: 1, containers: '/a/' }, 'containers', /must be an array/],
    ['a missing member', { type: 'token' }, 'data', /is required/],
    ['a bad month', { type: 'card', data: { ...CARD, expiration_month: 13 } }, 'data.expiration_month', /12/],
    ['a strange member of a card', { type: 'card', data: { ...CARD, pin: '1' } }, 'data.pin', /./],
    ['a bad container', { type: 'token', data: 1, containers: ['/a//b/'] }, 'containers.0', /example: \/pci\/high\//],
    ['metadata that is no text', { type: 'token', data: 1, metadata: { a: 1 } }, 'metadata.a', /must be a string/],
    ['an id of two characters', { type: 'token', data: 1, id: 'ab' }, 'id', /3 to 400/],
    ['a tag', { type: 'token', data: 1, mask: '{% if data %}{% endif %}' }, 'mask', /character/],
    [
      'an empty search index',
      { type: 'token', data: { a: 1 }, search_indexes: ['{{ data.b }}'] },
      'search_indexes.0',
      /empty result/,
    ],
  ];

  it.each(cases)('%s', async (_what, body, path, says) => {
    const answer = await world.call(key, 'createToken', { body });
    expect(answer.status).toBe(400);
    expect(String(answer.at(`errors[${path}]`))).toMatch(says);
  });

  it.each([
    ['cut short', '{"type":"token"', 'ends too early at character 16'],
    ['a duplicate member', '{"type":"token","data":1,"data":2}', 'a member name is repeated'],
    ['nothing', '', 'empty'],
    ['too deep', `{"type":"token","data":${'['.repeat(65)}${']'.repeat(65)}}`, 'nested more than 64 levels deep'],
    ['a comment', '{"type":"token","data":1/**/}', 'at character 25'],
  ])('malformed JSON: %s', async (_what, bodyText, says) => {
    const answer = await world.call(key, 'createToken', { bodyText });
    expect(answer.status).toBe(400);
    expect(answer.at('type')).toBe('urn:token-vault:problem:malformed_json');
    expect(answer.at('detail')).toContain(says);
  });

  it('returns 400 for a body that is not UTF-8 and 413 for one that the transport cut off', async () => {
    const call = {
      operation: 'createToken',
      apiKey: key,
      mediaType: 'application/json',
      params: {},
      query: [],
    } as const;
    expect((await world.client.call({ ...call, readBody: () => ({ bodyFault: 'not_utf8' }) })).status).toBe(400);
    const { status, bodyText = '' } = await world.client.call({
      ...call,
      readBody: () => ({ bodyFault: 'too_large' }),
    });
    expect([status, JSON.parse(bodyText).detail]).toEqual([413, 'The body is larger than the limit of 1048576 bytes.']);
  });

  it.each([
    ['size=0', 'size', /at least 1/],
    ['size=101', 'size', /at most 100/],
    ['page=0', 'page', /at least 1/],
    ['page=x', 'page', /integer/],
    ['page=1&page=2', 'page', /once/],
    ['sise=1', 'sise', /did you mean size\?/],
    ['type=nope', 'type.0', /must be one of/],
    ['metadata.=x', 'metadata.', /metadata\.<key>=<value>/],
  ])('query %s', async (query, path, says) => {
    const answer = await world.call(key, 'listTokens', { query });
    expect(answer.status).toBe(400);
    expect(String(answer.at(`errors[${path}]`))).toMatch(says);
  });

  it('treats null for an optional member as absent', async () => {
    const body = { type: 'card', data: CARD, metadata: null, containers: null, mask: null, id: null };
    const answer = await world.call(key, 'createToken', { body });
    expect(answer.status).toBe(201);
    expect(answer.at('containers')).toEqual(['/pci/high/']);
    expect(answer.at('metadata')).toBeUndefined();
  });

  it.each([
    ['{"a":1}', 400],
    ['[]', 400],
    ['x', 400],
    ['{}', 404],
    [' {\n} ', 404],
    ['null', 404],
    ['\ufeff', 404],
  ])('the body %j of an operation that takes none, of any type', async (bodyText, status) => {
    for (const mediaType of ['application/json', 'text/plain; charset=latin1', undefined]) {
      expect((await world.call(key, 'deleteToken', { id: 'abc', mediaType, bodyText })).status).toBe(status);
    }
  });

  it('a long blank body takes no time', async () => {
    const bodyText = `${' '.repeat(world.vault.limits.body - 1)}x`;
    const start = performance.now();
    expect((await world.call(key, 'deleteToken', { id: 'abc', bodyText })).status).toBe(400);
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});

describe('internal errors stay internal', () => {
  it('an unknown error is a 500 without details', async () => {
    const broken = await openTestVault();
    await broken.vault.close();
    const answer = await broken.call(broken.management, 'getTenant');
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(answer.text).not.toMatch(/at |Error|stack/);
  });
});
