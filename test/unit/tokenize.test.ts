import { describe, expect, it } from 'vitest';
import { turnsDuring } from '../turns-during.ts';
import { type Core, DAY, openCore, rule, tenantsWith, wrongPaths } from './core-fixture.ts';

const total = async (core: Core) => (await core.own('listTokens')).at('pagination.total_items');
const request = (data: unknown, more: object = {}) => ({ type: 'token', data, ...more });
const many = (count: number) => Array.from({ length: count }, (_, n) => request(n));

describe('tokenize', () => {
  it('accepts 1,000 requests and creates none of 1,001', async () => {
    const core = await openCore();
    expect(wrongPaths(await core.own('tokenize', { body: [...many(1_000), [request(1)]] }))).toEqual(['body']);
    expect(await total(core)).toBe(0);
    expect((await core.own('tokenize', { body: many(1_000) })).status).toBe(201);
    expect(await total(core)).toBe(1_000);
  });

  it('names at most a hundred wrong requests, and unreachable ones only when none is wrong', async () => {
    const core = await openCore();
    const wrong = Array.from({ length: 150 }, () => request(null));
    expect(wrongPaths(await core.own('tokenize', { body: wrong }))).toHaveLength(100);
    const pci = rule({ container: '/pci/', permissions: ['token:create'] });
    const key = await core.application({ name: 'pci', type: 'public', rules: [pci] });
    const outside = request(1, { containers: ['/pci/', '/general/'] });
    const both = await core.call(key, 'tokenize', { body: [outside, request(null)] });
    expect(wrongPaths(both)).toEqual(['1.data']);
    const refused = await core.call(key, 'tokenize', { body: [request(1, { containers: ['/pci/'] }), outside] });
    expect([refused.status, Object.keys(Object(refused.at('errors')))]).toEqual([403, ['1']]);
    expect(await total(core)).toBe(0);
  });

  it('puts each token in the place of its request, whatever the member names', async () => {
    const core = await openCore();
    const ids = ['one', 'two', 'three', 'four'];
    const [one, two, three, four] = ids.map((id) => request(id, { id }));
    const text = `{"b.c":${JSON.stringify(one)},"b":{"c":${JSON.stringify(two)},"1":${JSON.stringify(three)}},"__proto__":${JSON.stringify(four)}}`;
    const answer = await core.own('tokenize', { bodyText: text });
    expect([...answer.text.matchAll(/"id":"(\w+)"/g)].map(([, id]) => id)).toEqual(ids);
    expect(answer.text).toMatch(/^\{"b\.c":\{.*"b":\{"c":\{.*"1":\{.*"__proto__":\{/);
  });

  it('applies the limit on unreadable duplicates, and creates nothing beyond it', async () => {
    const core = await openCore();
    const writer = await core.application({ name: 'web', type: 'public', permissions: ['token:create'] });
    await core.token(request('known', { containers: ['/general/'] }));
    const guesses = (count: number) =>
      Array.from({ length: count }, () => request('known', { deduplicate_token: true }));
    const first = await core.call(writer, 'tokenize', { body: guesses(100) });
    expect([first.status, Object.keys(Object(first.at('99')))]).toEqual([
      201,
      ['id', 'type', 'tenant_id', 'fingerprint', 'containers'],
    ]);
    const second = await core.call(writer, 'tokenize', { body: [request('other'), ...guesses(1)] });
    expect([second.status, second.text.includes('fingerprint'), await total(core)]).toEqual([429, false, 1]);
  });

  it('replaces taken aliases with others, then with UUIDs', async () => {
    const core = await openCore();
    const alias = () => request('1', { id: 'id-{{ data | alias_preserve_format }}' });
    const answer = await core.own('tokenize', { body: Array.from({ length: 15 }, alias) });
    const ids = Array.from({ length: 15 }, (_, place) => String(answer.at(`${place}.id`)));
    expect(new Set(ids).size).toBe(15);
    expect(ids.filter((id) => /^id-\d$/.test(id)).length).toBeGreaterThan(5);
    const fixed = await core.own('tokenize', {
      body: [request('1', { id: 'id-{{ data }}' }), request('1', { id: 'id-{{ data }}' })],
    });
    expect(fixed.status).toBe(409);
  });

  it('searches again for duplicates of a token whose alias another call took', async () => {
    const inserted: (readonly string[])[] = [];
    const core: Core = await openCore({
      storeOf: (file) => ({
        ...file,
        async insertTokens(tokens, ...more) {
          inserted.push(tokens.map(({ token }) => token.id));
          // The first insert finds that the second request is a duplicate of the first one.
          if (inserted.length === 2) await core.token(request('other', { id: tokens[0]?.token.id }));
          return file.insertTokens(tokens, ...more);
        },
      }),
    });
    const alias = 'id-{{ data | alias_preserve_format }}';
    const body = [request('12345678', { id: alias }), request('12345678', { deduplicate_token: true })];
    const answer = await core.own('tokenize', { body });
    const [taken, id] = [inserted[1]?.[0], answer.at('0.id')];
    expect([answer.status, answer.at('1.id'), id === taken]).toEqual([201, id, false]);
    expect(await total(core)).toBe(2);
  });

  it('prepares one body of an application at a time', async () => {
    const sealed: string[] = [];
    const core = await openCore({
      keyringOf: tenantsWith((tenant) => ({
        seal: (context, text) => {
          if (context.table === 'token' && context.column === 'full') sealed.push(context.id.slice(0, 4));
          return tenant.seal(context, text);
        },
      })),
    });
    const batch = (name: string) =>
      Array.from({ length: 500 }, (_, n) => request('x'.repeat(500), { id: `${name}-${n}` }));
    const names = ['1st-', '2nd-', '3rd-'];
    const answers = await Promise.all(names.map((name) => core.own('tokenize', { body: batch(name) })));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(sealed.filter((name, at) => name !== sealed[at - 1])).toEqual(names);
  });

  it('creates nothing when the reply would be too large', async () => {
    const core = await openCore({ limits: { response: 20_000 } });
    const masked = request('x', { mask: 'y'.repeat(4_000) });
    const answer = await core.own('tokenize', { body: [masked, masked, masked] });
    expect([answer.status, answer.at('type')]).toEqual([400, 'urn:token-vault:problem:result_too_large']);
    expect(await total(core)).toBe(0);
    expect((await core.own('tokenize', { body: [masked, masked] })).status).toBe(201);
  });
});

describe('detokenize', () => {
  const fill = (core: Core, key: string, body: unknown) => core.call(key, 'detokenize', { body });

  /**
   * Opens a vault with a key that sees one token masked; the other tokens are named after the reason that hides them.
   */
  async function openHidden() {
    const opened: string[] = [];
    const core = await openCore({
      keyringOf: tenantsWith((tenant) => ({
        open: (context, sealed) => {
          if (context.table === 'token') opened.push(`${context.column} ${context.id}`);
          return tenant.open(context, sealed);
        },
      })),
    });
    const rules = [
      rule({ priority: 1, container: '/redacted/', transform: 'redact', permissions: ['token:use'] }),
      rule({ priority: 2, container: '/pci/', transform: 'mask', permissions: ['token:use'] }),
      rule({ priority: 3, container: '/elsewhere/', transform: 'reveal', permissions: ['token:read'] }),
    ];
    const key = await core.application({ name: 'use', type: 'private', rules });
    const put = (id: string, container: string, more: object = {}) =>
      core.token(request('secret', { id, containers: [container], mask: 'masked', ...more }));
    await put('shown', '/pci/');
    await put('redacted', '/redacted/');
    await put('out of reach', '/general/');
    await put('read by another permission', '/elsewhere/');
    await core.token(request('secret', { id: 'without a mask', containers: ['/pci/'] }));
    await put('expired', '/pci/', { expires_at: new Date(core.clock.now() + DAY).toISOString() });
    await put('deleted', '/pci/');
    expect((await core.own('deleteToken', { id: 'deleted' })).status).toBe(204);
    core.clock.advance(2 * DAY);
    opened.length = 0;
    return { core, key, opened };
  }

  it('shows the mask under a masking rule and never opens the value', async () => {
    const { core, key, opened } = await openHidden();
    const answer = await fill(core, key, ['{{ shown }}', 'x {{ shown | upcase }}']);
    expect(answer.text).toBe('["masked","x MASKED"]');
    expect(opened).toEqual(['presented shown']);
  });

  it.each(['redacted', 'out of reach', 'read by another permission', 'without a mask', 'expired', 'deleted'])(
    'treats a token that is %s like a missing one',
    async (id) => {
      const { core, key, opened } = await openHidden();
      const ask = (name: string) => fill(core, key, { a: '{{ shown }}', b: [`{{ ${name} }}`] });
      const missing = await ask('missing');
      const hidden = await ask(id);
      expect(wrongPaths(hidden)).toEqual(['b.0']);
      const without = (text: string) => text.replace(/"instance":"[^"]*"/, '');
      expect(without(hidden.text)).toBe(without(missing.text));
      expect(hidden.text).not.toContain('masked');
      expect(opened.filter((one) => one.startsWith('full'))).toEqual([]);
    },
  );

  it('names every id that it cannot use', async () => {
    const { core, key } = await openHidden();
    const body = Array.from({ length: 400 }, (_, n) => `{{ none-${n} }} {{ none-${n} | upcase }} {{ other-${n} }}`);
    const answer = await fill(core, key, body);
    expect(wrongPaths(answer)).toHaveLength(400);
    const [first, second] = ['at character 1', 'at character 36'];
    expect(answer.at('errors.0')).toEqual([expect.stringContaining(`${first}`), expect.stringContaining(`${second}`)]);
  });

  it('reads 1,000 tokens but not 1,001', async () => {
    const core = await openCore();
    const made = JSON.parse((await core.own('tokenize', { body: many(1_000) })).text) as readonly { id: string }[];
    const body = made.map(({ id }) => `{{ ${id} }}`);
    expect((await fill(core, core.key, body)).text).toBe(JSON.stringify(many(1_000).map(({ data }) => data)));
    expect((await fill(core, core.key, [...body, ...body])).status).toBe(200);
    const extra = await core.token(request('one more'));
    expect(wrongPaths(await fill(core, core.key, [...body, `{{ ${extra} }}`]))).toEqual(['body']);
  });

  it.each([
    ['many expressions in one text', '{{ none | upcase | size }}'.repeat(30_000)],
    ['many texts', Array(30_000).fill('{{ none | upcase | size }}')],
    ['many wrong texts', Array(30_000).fill('{{ none | nope }}')],
  ])('lets other calls run while it parses %s', async (_what, body) => {
    const core = await openCore();
    const { turns, needed } = await turnsDuring(() => fill(core, core.key, body));
    expect(turns).toBeGreaterThan(needed);
  });

  it('fails early for a too large reply or too much work in filters', async () => {
    const core = await openCore({ limits: { response: 50_000 } });
    const id = await core.token(request('x'.repeat(10_000)));
    const large = await fill(
      core,
      core.key,
      Array.from({ length: 20_000 }, () => `{{ ${id} }}`),
    );
    expect(large.at('type')).toBe('urn:token-vault:problem:result_too_large');
    const slow = await fill(
      core,
      core.key,
      Array.from({ length: 5_000 }, () => `{{ ${id} | size }}`),
    );
    expect([slow.status, slow.text]).toEqual([400, expect.stringContaining('takes too much work')]);
  });

  it('reveals with a plain permission and counts as use', async () => {
    const core = await openCore();
    const id = await core.token(request({ a: [1] }));
    const key = await core.application({ name: 'plain', type: 'private', permissions: ['token:use'] });
    core.clock.advance(40 * DAY);
    expect((await fill(core, key, `{{ ${id} | json: '$.a' }}`)).text).toBe('[1]');
    expect((await core.manage('getUsageReport')).at('token_report.monthly_active_tokens')).toBe(1);
  });
});

describe('a rule for token:use', () => {
  it.each([
    ['containers', { containers: ['/pci/'] }],
    ['mask', { mask: '{{ data }}' }],
  ])('prevents a change of %s that would show more', async (_member, body) => {
    const core = await openCore();
    const id = await core.token(request('secret', { containers: ['/general/'], mask: 'masked' }));
    const rules = [
      rule({ priority: 1, container: '/pci/', transform: 'reveal', permissions: ['token:use'] }),
      rule({ priority: 2, container: '/', transform: 'mask', permissions: ['token:use'] }),
    ];
    const key = await core.application({ name: 'use', type: 'private', permissions: ['token:update'], rules });
    expect((await core.call(key, 'updateToken', { id, body })).status).toBe(403);
    expect((await core.call(key, 'updateToken', { id, body: { metadata: { a: 'b' } } })).status).toBe(200);
  });
});

describe('a body that is one request', () => {
  it('has errors without a path', async () => {
    const core = await openCore();
    await core.token(request(0, { id: 'taken' }));
    const taken = await core.own('tokenize', { body: request(1, { id: 'taken' }) });
    expect([taken.status, Object.keys(Object(taken.at('errors')))]).toEqual([409, ['id']]);
  });
});
