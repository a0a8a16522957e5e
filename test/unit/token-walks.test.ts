import { describe, expect, it } from 'vitest';
import { createDraw, type Draw } from '../checks/model-fuzz-bodies.ts';
import { type Core, idsOf, openCore, partOfSegment, rule } from './core-fixture.ts';

interface Kept {
  readonly id: string;
  readonly type: string;
  readonly container: string;
  readonly created_at: number;
  readonly expires_at: number;
}

const CONTAINERS = ['/qa/', '/qa/deep/', '/qb/', '/other/'];

/** A caller with a filter, and the tokens that it should see. */
interface Walk {
  readonly query: string;
  /** The rules of a private application; `part` makes an expiring one with a rule on a part of a segment. */
  readonly rules?: readonly object[];
  readonly part?: string;
  readonly isOldestFirst?: true;
  shows(token: Kept): boolean;
}

const inside = ({ container }: Kept) => container.startsWith('/qa/');
const outside = (token: Kept) => !inside(token);
const part = ({ container }: Kept) => container !== '/other/';
const isToken = ({ type }: Kept) => type === 'token';
const RULES = [rule({ container: '/qa/deep/' }), rule({ container: '/qb/', priority: 2 })];
const ruled = ({ container }: Kept) => ['/qa/deep/', '/qb/'].includes(container);

const WALKS: Readonly<Record<string, Walk>> = {
  'all tokens': { query: '', shows: () => true },
  'all tokens, the oldest first': { query: '', isOldestFirst: true, shows: () => true },
  'a container, the oldest first': { query: '&container=/qa/', isOldestFirst: true, shows: inside },
  'a type': { query: '&type=token', shows: isToken },
  'a container and metadata': { query: '&container=/qa/&metadata[k]=X', shows: inside },
  'two containers': { query: '&container=/qb/&container=/other/', shows: outside },
  'by rules on containers': { rules: RULES, query: '', shows: ruled },
  'by a rule on a part of a segment': { part: '/q', query: '', shows: part },
  'by a rule on a part of a segment, the oldest first': { part: '/q', query: '', isOldestFirst: true, shows: part },
  'by a rule on a part of a segment, a type': {
    part: '/q',
    query: '&type=token',
    shows: (token) => part(token) && isToken(token),
  },
};

async function callerOf(core: Core, walk: Walk) {
  if (walk.rules) return core.application({ name: 'rules', type: 'private', rules: walk.rules });
  return walk.part === undefined ? core.key : partOfSegment(core, walk.part);
}

async function create(core: Core, draw: Draw): Promise<Kept> {
  if (draw.chance(0.5)) core.clock.advance(1 + draw.below(3));
  const [type, container] = [draw.one(['token', 'card_number']), draw.one(CONTAINERS)];
  const expires_at = draw.chance(0.15) ? core.clock.now() + 1 + draw.below(2_000) : Number.POSITIVE_INFINITY;
  const id = await core.token({
    ...(draw.chance(0.5) && { id: `${draw.one(['a', 'z', 'ü'])}-${draw.below(1e9)}` }),
    type,
    data: '4242424242424242',
    containers: [container],
    metadata: { k: 'x' },
    ...(expires_at < Number.POSITIVE_INFINITY && { expires_at: new Date(expires_at).toISOString() }),
  });
  return { id, type, container, created_at: core.clock.now(), expires_at };
}

const newestFirst = (a: Kept, b: Kept) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1);

describe('a walk', () => {
  it.each(Object.entries(WALKS))('over %s shows unchanged tokens once, in order', async (name, walk) => {
    const core = await openCore();
    const draw = createDraw(name.length * 7919);
    const key = await callerOf(core, walk);
    const made = new Map<string, Kept>();
    const keep = (token: Kept) => made.set(token.id, token);
    while (made.size < 160) keep(await create(core, draw));
    for (let round = 0; round < 3; round++) {
      const before = [...made.values()].filter(({ expires_at }) => expires_at > core.clock.now()).sort(newestFirst);
      if (walk.isOldestFirst) before.reverse();
      const seen: string[] = [];
      // Change the vault between two pages, often at tokens that later pages would show.
      const change = async () => {
        const ahead = before.filter(({ id }) => made.has(id) && !seen.includes(id)).slice(0, 40);
        const token = ahead.length > 0 ? draw.one(ahead) : undefined;
        const kind = draw.below(4);
        if (kind === 0) keep(await create(core, draw));
        else if (kind === 1) core.clock.advance(draw.below(60));
        else if (token === undefined || token.expires_at <= core.clock.now()) return;
        else if (kind === 2)
          await core.own('updateToken', { id: token.id, body: { metadata: { n: `${seen.length}` } } });
        else {
          made.delete(token.id);
          await core.own('deleteToken', { id: token.id });
        }
      };
      let start = '';
      do {
        // The cursor remembers the order.
        const begin = walk.isOldestFirst ? '&order=oldest' : '';
        const query = `size=${1 + draw.below(20)}${walk.query}${start ? `&start=${start}` : begin}`;
        const page = core.call(key, 'listTokensByCursor', { query });
        if (draw.chance(0.7)) await change();
        const { status, text } = await page;
        expect(status, text).toBe(200);
        const { data, pagination } = JSON.parse(text) as { data: Kept[]; pagination: { next?: string } };
        seen.push(...data.map(({ id }) => id));
        start = pagination.next ?? '';
        for (let changes = draw.below(3); changes > 0; changes--) await change();
      } while (start !== '');
      const stays = before.filter(
        (token) => made.has(token.id) && token.expires_at > core.clock.now() && walk.shows(token),
      );
      const ids = new Set(stays.map(({ id }) => id));
      expect(seen.filter((id) => ids.has(id))).toEqual(stays.map(({ id }) => id));
      expect(new Set(seen).size).toBe(seen.length);
      const shown = before.filter(({ id }) => seen.includes(id));
      expect(shown.filter((token) => !walk.shows(token))).toEqual([]);
    }
  });
});

describe('a page', () => {
  it('has a successor even when a token leaves while the page is read', async () => {
    let between = async () => {};
    const then =
      <A extends unknown[], T>(read: (...of: A) => Promise<T>) =>
      async (...of: A) => {
        const slice = await read(...of);
        await between();
        return slice;
      };
    const core = await openCore({
      storeOf: (file) => ({ ...file, scanTokens: then(file.scanTokens), walkTokens: then(file.walkTokens) }),
    });
    const key = await callerOf(core, { query: '', part: '/q', shows: () => true });
    for (const id of ['third', 'second', 'first']) {
      core.clock.advance(1);
      await core.token({ id, type: 'token', data: 1, containers: ['/qa/'] });
    }
    between = async () => {
      between = async () => {};
      await core.own('deleteToken', { id: 'second' });
    };
    const page = await core.call(key, 'listTokensByCursor', { query: 'size=2' });
    expect(idsOf(page)).toEqual(['first']);
    const next = await core.call(key, 'listTokensByCursor', { query: `size=1&start=${page.at('pagination.next')}` });
    expect(idsOf(next)).toEqual(['third']);
  });
});

describe('a cursor', () => {
  const walk = (core: Core, key: string, start: string) =>
    core.call(key, 'listTokensByCursor', { query: `size=2&start=${encodeURIComponent(start)}` });
  async function three() {
    const core = await openCore();
    for (const id of ['first', 'second', 'third', 'fourth']) {
      core.clock.advance(1);
      await core.token({ id, type: 'token', data: 1, containers: [id === 'second' ? '/b/' : '/a/'] });
    }
    const page = await core.own('listTokensByCursor', { query: 'size=2' });
    return { core, next: String(page.at('pagination.next')) };
  }

  it('of a deleted token continues at its place', async () => {
    const { core, next } = await three();
    await core.own('deleteToken', { id: 'third' });
    expect(idsOf(await walk(core, core.key, next))).toEqual(['second', 'first']);
  });

  it('of another caller shows what the own rules reach', async () => {
    const { core, next } = await three();
    const key = await core.application({ name: 'a', type: 'private', rules: [rule({ container: '/a/' })] });
    expect(idsOf(await walk(core, key, next))).toEqual(['first']);
  });

  it('of another tenant is refused', async () => {
    const { core, next } = await three();
    const other = await core.vault.createTenant('other');
    const body = { name: 'x', type: 'private', permissions: ['token:read'] };
    const made = await core.call(other.application.key, 'createApplication', { body });
    expect((await walk(core, String(made.at('key')), next)).status).toBe(400);
  });

  it('does not show the position: a short page may end at a token that the caller must not see', async () => {
    const { core, next } = await three();
    expect([next, Buffer.from(next, 'base64url').toString('latin1')].join()).not.toContain('third');
    const again = await core.own('listTokensByCursor', { query: 'size=2' });
    expect(again.at('pagination.next')).not.toBe(next);
  });

  it.each([
    ['a word', 'x'],
    ['dots', '....'],
    ['a position', Buffer.from('0.x').toString('base64url')],
    ['a text that is too long', 'x'.repeat(4_001)],
  ])('is refused that is %s', async (_, start) => {
    const { core } = await three();
    expect((await walk(core, core.key, start)).status).toBe(400);
  });
});
