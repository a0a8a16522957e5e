import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { APPLICATION_TYPES } from '../../src/contract/permissions.ts';
import { TOKEN_TYPE_NAMES } from '../../src/contract/token-types.ts';
import type { TokenCondition } from '../../src/core/ports.ts';
import type { Walk } from '../../src/core/scan-ports.ts';
import { applicationType, tokenType } from '../../src/store/rows/columns.ts';
import type { Fragment, SqlParameter } from '../../src/store/rows/fragment.ts';
import { successor, toQuery } from '../../src/store/rows/token-query.ts';
import { APPLICATION_TYPE_CODES, TOKEN_TYPE_CODES } from '../../src/store/rows/type-codes.ts';
import type { IndexCondition, PlannedCondition } from '../../src/store/sqlite/tables/token-conditions.ts';
import { planScan, planTokens, planWalk } from '../../src/store/sqlite/tables/token-plan.ts';
import { uuidBytes, uuidKey, uuidText } from '../../src/store/sqlite/tables/uuid-bytes.ts';
import { blind, NOW } from '../conformance/store-fixtures.ts';
import { rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

/** Replaces an absent plan: names the tenant and finds nothing. */
const NONE: Fragment = { sql: 'SELECT 1 WHERE FALSE', params: [424_242] };

describe('the successor of a prefix', () => {
  const text = fc.string({ unit: 'binary', maxLength: 5 });
  const bytes = (value: string) => Buffer.from(value);

  it('bounds exactly the texts that start with it, compared by bytes', () => {
    fc.assert(
      fc.property(text, fc.oneof(text, fc.constantFrom('\u{10ffff}', '\ud7ff', '')), text, (other, prefix, rest) => {
        const end = successor(prefix);
        const within = (value: string) =>
          Buffer.compare(bytes(value), bytes(prefix)) >= 0 &&
          (end === undefined || Buffer.compare(bytes(value), bytes(end)) < 0);
        expect(within(prefix + rest)).toBe(true);
        expect(within(other)).toBe(other.startsWith(prefix));
      }),
    );
  });

  it('skips the surrogates and handles the end of Unicode', () => {
    expect(successor('a\ud7ff')).toBe('a\ue000');
    expect(successor('a\u{10ffff}\u{10ffff}')).toBe('b');
    expect(successor('\u{10ffff}')).toBeUndefined();
    expect(successor('')).toBeUndefined();
    expect(successor('tok_')).toBe('tok`');
  });
});

describe('a plan', () => {
  const plain: TokenCondition = { index_in: [blind('a')] };
  const one: IndexCondition = { ...plain, isDisjoint: true };
  const many: TokenCondition = { index_in: [blind('a'), blind('b')] };
  const type: TokenCondition = { type_in: ['card'] };
  const ids: TokenCondition = { id_in: ['x', 'y'] };

  it('counts an unfiltered list without reading tokens, and sorts nothing for its page', async () => {
    const connection = await rawConnection(await temporaryVault());
    const explain = (all: readonly PlannedCondition[], visible?: readonly number[]) => {
      const plan = planTokens({ tenant: 1, all, visible, sets: () => visible ?? [0] }, NOW, 20, () => 1);
      const steps = [plan.list, plan.total].map(({ sql, params } = NONE) =>
        connection
          .prepare<SqlParameter[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
          .all(...params)
          .map(({ detail }) => detail),
      );
      return { list: steps[0]?.join('\n') ?? '', total: steps[1]?.join('\n') ?? '' };
    };
    const none = explain([]);
    expect(none.list).toBe('SEARCH t USING INDEX token_newest (tenant=? AND set_number=?)');
    expect(none.total).toContain('SEARCH t USING PRIMARY KEY (tenant=? AND type>?)');
    expect(none.total).toContain('token_expiry');
    expect(none.total).not.toContain('SCAN t ');
    const byIndex = explain([one]);
    expect(byIndex.list).toContain('SEARCH i USING PRIMARY KEY (tenant=? AND blind=? AND set_number=?)');
    expect(byIndex.list).toContain('LAST TERM OF ORDER BY');
    expect(byIndex.total).toContain('SEARCH token_index USING PRIMARY KEY (tenant=? AND blind=?)');
    const inSet = explain([one], [3]);
    expect(inSet.list).toBe(byIndex.list);
    const inSets = [inSet, explain([one], [3, 4, 5]), explain([many], [3]), explain([many], [3, 4, 5])];
    for (const steps of inSets) {
      expect(steps.total).toContain('SEARCH token_index USING PRIMARY KEY (tenant=? AND blind=? AND set_number=?)');
    }
    const byIds = explain([type, ids, one]);
    for (const steps of [none, byIndex, byIds, explain([many])])
      expect(`${steps.list}\n${steps.total}`).not.toMatch(/^SCAN t$/m);
  });

  it('scans from a token by a range of one index, and sorts nothing', async () => {
    const connection = await rawConnection(await temporaryVault());
    const after = { created_at: NOW, id: 'a' };
    const walks = [{ after: undefined }, { after }, { after: undefined, order: 'oldest' }, { after, order: 'oldest' }];
    const steps = (walks as readonly Pick<Walk, 'after' | 'order'>[]).map((walk) => {
      const { sql, params } = planScan({ tenant: 1, all: [type, one], sets: () => [0] }, walk, NOW);
      return connection
        .prepare<SqlParameter[], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...params)
        .map(({ detail }) => detail)
        .filter((detail) => / t /.test(detail) || detail.includes('ORDER'));
    });
    const search = (range: string) => [`SEARCH t USING INDEX token_newest (tenant=? AND set_number=?${range})`];
    expect(steps).toEqual(['', ' AND created_at<?', '', ' AND created_at>?'].map(search));
  });

  it('has the tenant in every statement', () => {
    const tenant = 424_242;
    for (const all of [[], [type], [one], [many], [ids], [{ id_prefix: 'a' }], [{ id_prefix: '' }], [one, type, ids]]) {
      for (const anyOf of [undefined, [[type, one], [ids]]]) {
        const counted: (readonly SqlParameter[])[] = [];
        const query = { tenant, all, sets: () => [0, 1], ...(anyOf && { anyOf }) };
        const plan = planTokens(query, NOW, 20, (fragment) => counted.push(fragment.params));
        const walk = planWalk(query, { after: undefined }, NOW, () => 5000);
        const plans = [plan.list ?? NONE, plan.total ?? NONE, walk].map(({ params }) => params);
        for (const params of [...plans, ...counted]) expect(params).toContain(tenant);
      }
    }
  });

  it('merges a single visibility rule into the conditions', () => {
    const query = (visible?: readonly (readonly TokenCondition[])[]) =>
      toQuery({ tenant_id: 't', all: [type], visible });
    expect(query()).toEqual({ all: [type] });
    expect(query([])).toBeUndefined();
    expect(query([[ids], []])).toEqual({ all: [type] });
    expect(query([[plain, ids]])).toEqual({ all: [type, plain, ids] });
    expect(query([[plain], [{ index_in: [blind('b')] }]])).toEqual({ all: [type, many] });
    expect(query([[{ id_in: ['x'] }], [{ id_in: ['y'] }]])).toEqual({ all: [type, ids] });
    expect(query([[plain], [ids]])).toEqual({ all: [type], anyOf: [[ids], [plain]] });
  });
});

describe('stored codes and ids', () => {
  it('differ for all types, and unknown codes are rejected', () => {
    expect(TOKEN_TYPE_NAMES.map((name) => tokenType.read(TOKEN_TYPE_CODES[name]))).toEqual(TOKEN_TYPE_NAMES);
    const applications = Object.keys(APPLICATION_TYPES) as (keyof typeof APPLICATION_TYPE_CODES)[];
    expect(applications.map((name) => applicationType.read(APPLICATION_TYPE_CODES[name]))).toEqual(applications);
    expect(() => tokenType.read(99)).toThrow(expect.objectContaining({ code: 'integrity_failure' }));
  });

  it('keep UUIDs and their order', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), (a, b) => {
        expect(uuidText(uuidBytes(a))).toBe(a);
        expect(Math.sign(Buffer.compare(uuidBytes(a), uuidBytes(b)))).toBe(a < b ? -1 : a > b ? 1 : 0);
      }),
    );
    expect(uuidKey('ABCDEF00-0000-7000-8000-000000000001')).toBeNull();
    expect(() => uuidBytes('x')).toThrow(RangeError);
  });
});
