import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_LISTED } from '../../src/contract/limits.ts';
import type { TokenType } from '../../src/contract/token-types.ts';
import type { Store, TokenCondition, TokenFilter, TokenRecord } from '../../src/core/ports.ts';
import type { ScanPosition, ScanSlice, SearchCondition, TimeRange, WalkSlice } from '../../src/core/scan-ports.ts';
import {
  addTenant,
  addToken,
  blind,
  ENTRY,
  everything,
  FIRST_PAGE,
  idsOf,
  indexes,
  NOW,
  presentedOf,
  sealed,
  tokenRecord,
  tombstoneOf,
} from './store-fixtures.ts';

interface Made {
  readonly id: string;
  readonly type: TokenType;
  readonly created_at: number;
  readonly expires_at: number | undefined;
  readonly blinds: readonly string[];
}

type Named =
  | { readonly id_in: readonly string[] }
  | { readonly id_prefix: string }
  | { readonly type_in: readonly TokenType[] }
  | { readonly blinds: readonly string[] }
  | { readonly created_in: TimeRange }
  | { readonly expires_in: TimeRange }
  | Extract<SearchCondition, { readonly clear_in: unknown }>
  | { readonly every: readonly Named[] }
  | { readonly some: readonly Named[] }
  | { readonly not: Named };

const TYPES = ['token', 'card', 'bank'] as const;
const CONTAINERS = ['/r/', '/s/', '/t/'] as const;
const BLINDS = ['p', 'q', ...CONTAINERS] as const;

const id = fc.string({
  unit: fc.constantFrom('a', 'b', 'A', 'é', '-', '%', '_', '*', '\ufffd', '\ue000', '\ud7ff', '😀', '\u{10ffff}'),
  minLength: 1,
  maxLength: 4,
});
const blinds = fc.subarray([...BLINDS]);
const made = fc.record<Made>({
  id,
  type: fc.constantFrom(...TYPES),
  created_at: fc.integer({ min: NOW - 3, max: NOW }),
  expires_at: fc.option(fc.integer({ min: NOW, max: NOW + 2 }), { nil: undefined }),
  blinds,
});
const range = fc.record({
  from: fc.integer({ min: NOW - 4, max: NOW + 3 }),
  to: fc.integer({ min: NOW - 4, max: NOW + 3 }),
});
const byte = fc.uint8Array({ minLength: 1, maxLength: 1 });
const plain: fc.Arbitrary<Named> = fc.oneof(
  fc.record({ id_in: fc.array(fc.oneof(id, fc.constantFrom('a\0', '\ud83d')), { maxLength: 6 }) }),
  fc.record({ id_prefix: fc.oneof(id, fc.constantFrom('', 'a\0', '\ud83d')) }),
  fc.record({ clear_in: fc.record({ offset: fc.nat(42), from: byte, to: byte }) }),
  fc.record({ type_in: fc.subarray([...TYPES]) }),
  fc.record({ blinds }),
  fc.record({ created_in: range }),
  fc.record({ expires_in: range }),
);
const { named } = fc.letrec<{ named: Named; parts: readonly Named[] }>((tie) => ({
  named: fc.oneof(
    { depthSize: 'small' },
    plain,
    fc.record({ not: tie('named') }),
    fc.record({ every: tie('parts') }),
    fc.record({ some: tie('parts') }),
  ),
  parts: fc.array(tie('named'), { maxLength: 3 }),
}));
const conditions = fc.array(named, { maxLength: 3 });
const ofRule: fc.Arbitrary<Named> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ blinds: fc.subarray([...CONTAINERS]) }) },
  named.filter((condition) => !('blinds' in condition)),
);
const visible = fc.option(fc.array(fc.array(ofRule, { maxLength: 3 }), { maxLength: 4 }), { nil: undefined });

function holds(token: Made, condition: Named): boolean {
  if ('id_in' in condition) return condition.id_in.includes(token.id);
  if ('type_in' in condition) return condition.type_in.includes(token.type);
  if ('blinds' in condition) return condition.blinds.some((name) => token.blinds.includes(name));
  if ('created_in' in condition) return isIn(token.created_at, condition.created_in);
  if ('expires_in' in condition) return token.expires_at !== undefined && isIn(token.expires_at, condition.expires_in);
  if ('clear_in' in condition) {
    const { offset, from, to } = condition.clear_in;
    const found = tokenRecord('', { id: token.id }).clear.subarray(offset, offset + 1);
    return Buffer.compare(found, from) >= 0 && Buffer.compare(found, to) <= 0;
  }
  if ('every' in condition) return condition.every.every((each) => holds(token, each));
  if ('some' in condition) return condition.some.some((each) => holds(token, each));
  if ('not' in condition) return !holds(token, condition.not);
  // Compare whole characters, not halves of surrogate pairs.
  const prefix = [...condition.id_prefix];
  return prefix.every((character, index) => [...token.id][index] === character);
}

function isIn(at: number, { from, to }: TimeRange): boolean {
  return at >= from && at <= to;
}

function toCondition(condition: Named): TokenCondition {
  if ('blinds' in condition) return { index_in: condition.blinds.map(blind) };
  if ('every' in condition) return { every: condition.every.map(toCondition) };
  if ('some' in condition) return { some: condition.some.map(toCondition) };
  return 'not' in condition ? { not: toCondition(condition.not) } : condition;
}

function compareCodePoints(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => [...text].map((character) => character.codePointAt(0) ?? 0));
  for (const [index, point] of (left ?? []).entries()) {
    const other = right?.[index];
    if (other === undefined) return 1;
    if (point !== other) return point - other;
  }
  return (left?.length ?? 0) - (right?.length ?? 0);
}

export function storeFilters(store: () => Store): void {
  describe('findTokens', () => {
    it('counts the tokens among 1,000 ids, as the retry of a batch does', async () => {
      const { id: tenant } = await addTenant(store());
      for (const name of ['t1', 't998']) await addToken(store(), tenant, { id: name });
      await addToken(store(), tenant, { id: 't500', expires_at: NOW });
      const id_in = Array.from({ length: 1000 }, (_, n) => `t${n}`);
      const filter = { tenant_id: tenant, all: [{ id_in }] };
      expect(await store().findTokens(filter, { offset: 0, limit: 0 }, NOW)).toMatchObject({ total: 2 });
    });

    it('leaves the longest values out of a page', async () => {
      const { id: tenant } = await addTenant(store());
      for (const [id, length] of Object.entries({ t1: MAX_LISTED, t2: MAX_LISTED + 1 })) {
        await addToken(store(), tenant, { id: `${id}f`, full: sealed(id, length) });
        await addToken(store(), tenant, { id: `${id}p`, presented: sealed(id, length) });
      }
      const filter = everything(tenant);
      const { records: found = [] } = await store().findTokens(filter, FIRST_PAGE, NOW);
      const walk = { after: undefined, limit: 10, skip: 0, take: 10 };
      const { records: walked } = await store().walkTokens(filter, walk, NOW);
      const { records: scanned } = await store().scanTokens(filter, walk, NOW);
      for (const page of [found, walked]) expect(page.map(({ full }) => full.length)).toEqual([MAX_LISTED, 40, 0, 40]);
      for (const page of [found, walked, scanned])
        expect(page.map(({ presented }) => presented.length)).toEqual([40, MAX_LISTED, 40, 0]);
      expect((await store().findPresentedToken(tenant, 't2f', NOW))?.full).toHaveLength(MAX_LISTED + 1);
    });

    it('matches a plain filter in order and total for any conditions', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(made, { selector: (token) => token.id, maxLength: 25 }),
          fc.array(fc.tuple(conditions, visible, fc.nat(8), fc.integer({ min: 1, max: 30 })), {
            minLength: 6,
            maxLength: 6,
          }),
          fc.integer({ min: NOW - 1, max: NOW + 2 }),
          async (tokens, queries, now) => {
            const { id: tenant } = await addTenant(store());
            await Promise.all(tokens.map(({ blinds: names, ...parts }) => addToken(store(), tenant, parts, names)));
            for (const [all, seen, offset, limit] of queries) {
              const expected = tokens
                .filter(({ expires_at }) => expires_at === undefined || expires_at > now)
                .filter((token) => all.every((condition) => holds(token, condition)))
                .filter((token) => seen === undefined || seen.some((list) => list.every((each) => holds(token, each))))
                .sort((a, b) => b.created_at - a.created_at || compareCodePoints(a.id, b.id))
                .map((token) => token.id);
              const filter: TokenFilter = {
                tenant_id: tenant,
                all: all.map(toCondition),
                visible: seen?.map((list) => list.map(toCondition)),
              };
              const page = await store().findTokens(filter, { offset, limit }, now);
              expect({ ids: page.records?.map((record) => record.id), total: page.total }).toEqual({
                ids: expected.slice(offset, offset + limit),
                total: expected.length,
              });
              for (const order of ['newest', 'oldest'] as const) {
                const ordered = order === 'newest' ? expected : expected.toReversed();
                const walked: string[] = [];
                let [after, found]: [ScanPosition | undefined, number] = [undefined, 0];
                do {
                  const skip = Math.max(0, offset - found);
                  const slice: WalkSlice = await store().walkTokens(
                    filter,
                    { after, order, limit, skip, take: 3 },
                    now,
                  );
                  found += slice.found;
                  walked.push(...slice.records.map((record) => record.id));
                  after = slice.next;
                } while (after !== undefined && walked.length < 3);
                expect(walked.slice(0, 3)).toEqual(ordered.slice(offset, offset + 3));
                if (after === undefined) expect(found).toBe(expected.length);
              }
            }
          },
        ),
        { numRuns: 60 },
      );
    }, 60_000);

    it('lists tokens of a container in one, some or many sets until the last one leaves', async () => {
      const { id } = await addTenant(store());
      const tokens: { readonly names: readonly string[]; readonly record: TokenRecord }[] = [];
      for (let n = 0; n < 60; n += 1) {
        const names = ['/all/', n % 3 === 0 ? '/third/' : `/${n % 40}/`, ...(n % 5 === 0 ? ['tag'] : [])];
        const parts = { id: `t${(n * 37) % 60}`, created_at: NOW - (n % 7) };
        tokens.push({ names, record: await addToken(store(), id, parts, names) });
      }
      const agree = async () => {
        for (const all of [['/all/'], ['/third/'], ['/7/'], ['/all/', 'tag'], ['/third/', '/all/']]) {
          const filter = { tenant_id: id, all: all.map((name) => ({ index_in: [blind(name)] })) };
          const expected = tokens
            .filter(({ names }) => all.every((name) => names.includes(name)))
            .sort((a, b) => b.record.created_at - a.record.created_at || compareCodePoints(a.record.id, b.record.id))
            .map(({ record }) => record.id);
          const page = await store().findTokens(filter, { offset: 1, limit: 30 }, NOW);
          expect({ all, total: page.total, ids: page.records?.map((record) => record.id) }).toEqual({
            all,
            total: expected.length,
            ids: expected.slice(1, 31),
          });
        }
        expect(await store().inspect()).toEqual([]);
      };
      await agree();
      for (const [n, token] of tokens.splice(0, 45).entries()) {
        if (n % 2 === 0) {
          await store().deleteToken(tombstoneOf(token.record), 1, ENTRY);
          continue;
        }
        const moved = { names: ['/third/', '/moved/'], record: { ...token.record, revision: 2 } };
        const expected = { revision: 1, now: NOW };
        await store().replaceToken(moved.record, indexes(token.record.id, ...moved.names), expected, ENTRY);
        tokens.push(moved);
      }
      await agree();
      for (const { record } of tokens.splice(0)) await store().deleteToken(tombstoneOf(record), record.revision, ENTRY);
      await agree();
    });

    it('finds the oldest duplicate in any containers, by id if several are equally old', async () => {
      const { id } = await addTenant(store());
      const places = { '😀': ['/a/'], newer: ['/b/', '/c/'], '\ufffd': ['/d/'], newest: [] };
      const found = () => store().findDuplicate(id, blind('fingerprint f'), '', NOW);
      for (const [at, [name, containers]] of Object.entries(places).entries()) {
        const token = tokenRecord(id, { id: name, created_at: NOW + (at % 2) * at });
        await store().insertToken(token, indexes('f', ...containers), { deduplicate: false, now: NOW }, ENTRY);
      }
      for (const oldest of ['\ufffd', '😀', 'newer', 'newest']) {
        const token = await found();
        expect(token?.id).toBe(oldest);
        if (token !== undefined) await store().deleteToken(tombstoneOf(token), 1, ENTRY);
      }
      expect(await found()).toBeUndefined();
    });

    it('scans in slices the tokens of pages, and reads at most the requested number in a slice', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(made, { selector: (token) => token.id, maxLength: 25 }),
          conditions,
          visible,
          fc.integer({ min: 1, max: 8 }),
          async (tokens, all, seen, limit) => {
            const { id: tenant } = await addTenant(store());
            await Promise.all(tokens.map(({ blinds: names, ...parts }) => addToken(store(), tenant, parts, names)));
            const filter: TokenFilter = {
              tenant_id: tenant,
              all: all.map(toCondition),
              visible: seen?.map((list) => list.map(toCondition)),
            };
            const { records } = await store().findTokens(filter, { offset: 0, limit: 30 }, NOW);
            const scanned: string[] = [];
            let [after, slices]: [ScanPosition | undefined, number] = [undefined, 0];
            do {
              const slice: ScanSlice = await store().scanTokens(filter, { after, limit }, NOW);
              expect(slice.records.length).toBeLessThanOrEqual(limit);
              scanned.push(...slice.records.map((record) => record.id));
              slices += 1;
              after = slice.next;
            } while (after !== undefined);
            expect(scanned).toEqual(records?.map((record) => record.id));
            // The slices include tokens that the filter excludes, unless nothing can match.
            if (seen === undefined) expect(slices).toBe(Math.floor(tokens.length / limit) + 1);
          },
        ),
        { numRuns: 60 },
      );
    }, 60_000);

    it('returns the columns of a scanned record that rules need', async () => {
      const { id: tenant } = await addTenant(store());
      const token = await addToken(store(), tenant, { type: 'card', expires_at: NOW + 9 }, ['x']);
      const { records } = await store().scanTokens(everything(tenant), { after: undefined, limit: 1 }, NOW);
      const { full: _, ...scanned } = presentedOf(token);
      expect(records).toEqual([expect.objectContaining(scanned)]);
    });

    it('returns the total for a page beyond the end', async () => {
      const { id: tenant } = await addTenant(store());
      for (let n = 0; n < 3; n += 1) await addToken(store(), tenant, {}, ['x']);
      for (const all of [[], [{ index_in: [blind('x')] }], [{ id_prefix: '0' }]]) {
        const filter = { tenant_id: tenant, all };
        expect(await store().findTokens(filter, { offset: 3, limit: 2 }, NOW)).toEqual({ records: [], total: 3 });
        expect(await store().findTokens(filter, { offset: 900, limit: 2 }, NOW)).toEqual({ records: [], total: 3 });
        expect((await store().findTokens(filter, { offset: 2, limit: 2 }, NOW)).records).toHaveLength(1);
      }
    });

    it('returns all columns that a read can show', async () => {
      const { id: tenant } = await addTenant(store());
      const token = await addToken(store(), tenant, { type: 'card', expires_at: NOW + 9 }, ['x']);
      const { records } = await store().findTokens(everything(tenant), FIRST_PAGE, NOW);
      expect(records).toEqual([presentedOf(token)]);
    });

    it('finds tokens by fingerprint like by any other blind index', async () => {
      const { id: tenant } = await addTenant(store());
      const token = await addToken(store(), tenant);
      const filter = { tenant_id: tenant, all: [{ index_in: [blind(`fingerprint ${token.id}`)] }] };
      expect(await idsOf(store(), filter)).toEqual([token.id]);
    });

    it('finds tokens by a hundred ids and by more alternatives than an application may have rules', async () => {
      const { id: tenant } = await addTenant(store());
      const tokens = await Promise.all(
        Array.from({ length: 120 }, (_, n) => addToken(store(), tenant, { created_at: NOW - n }, [`tag ${n}`])),
      );
      const ids = tokens.map((token) => token.id);
      const byId = { tenant_id: tenant, all: [{ id_in: ids.slice(0, 100) }] };
      expect(await idsOf(store(), byId)).toEqual(ids.slice(0, 100));
      const visible = tokens
        .slice(20, 80)
        .map((token, n) => [
          { index_in: [blind(`tag ${n + 20}`)] },
          { id_prefix: token.id },
          { type_in: ['token'] as TokenType[] },
        ]);
      expect(await idsOf(store(), { tenant_id: tenant, all: [], visible })).toEqual(ids.slice(20, 80));
    });

    it('finds tokens by 250 pairs of containers that many sets of containers contain', async () => {
      const { id: tenant } = await addTenant(store());
      const sets = Array.from({ length: 30 }, (_, n) => ['/all/', n < 15 ? '/low/' : '/high/', `/${n}/`]);
      const tokens = await Promise.all(
        sets.map((set, n) => addToken(store(), tenant, { created_at: NOW - n }, ['tag', ...set])),
      );
      const ids = tokens.map((token) => token.id);
      const pairsWith = (...names: readonly string[]) =>
        Array.from({ length: 250 }, (_, n) =>
          ['/all/', names[n % names.length] ?? ''].map((name) => ({ index_in: [blind(name)] })),
        );
      const conditions = [[], [{ index_in: [blind('tag')] }], [{ index_in: [blind('/all/')] }]];
      for (const all of conditions) {
        const listed = async (...names: readonly string[]) => {
          const filter = { tenant_id: tenant, all, visible: pairsWith(...names) };
          const { found } = await store().walkTokens(
            filter,
            { after: undefined, limit: 99_999, skip: 0, take: 0 },
            NOW,
          );
          const { records } = await store().scanTokens(filter, { after: undefined, limit: 100 }, NOW);
          expect([found, records.map((record) => record.id)]).toEqual([records.length, await idsOf(store(), filter)]);
          return records.map((record) => record.id);
        };
        expect(await listed('/low/', '/high/')).toEqual(ids);
        expect(await listed('/low/')).toEqual(ids.slice(0, 15));
        expect(await listed('/high/', '/3/', '/none/')).toEqual([ids[3], ...ids.slice(15)]);
        expect(await listed('/none/')).toEqual([]);
      }
    });

    it('finds tokens by 250 pairs of rules with ten conditions', async () => {
      const { id: tenant } = await addTenant(store());
      const sets = Array.from({ length: 31 }, (_, n) => [...(n < 15 ? [] : ['/all/']), `/${n}/`]);
      const tokens: TokenRecord[] = [];
      for (const [n, set] of sets.entries()) tokens.push(await addToken(store(), tenant, { created_at: NOW - n }, set));
      const visible = Array.from({ length: 250 }, (_, n) =>
        [...Array.from({ length: 9 }, () => '/all/'), `/${10 + (n % 21)}/`].map((name) => ({
          index_in: [blind(name)],
        })),
      );
      const ids = tokens.slice(15).map((token) => token.id);
      expect(await idsOf(store(), { tenant_id: tenant, all: [], visible })).toEqual(ids);
    });
  });
}
