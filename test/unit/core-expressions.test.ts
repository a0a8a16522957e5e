import { beforeAll, describe, expect, it } from 'vitest';
import { atEndOfSuite } from '../temporary-folder.ts';
import { type Core, openCore, wrongPaths } from './core-fixture.ts';

const atEnd = atEndOfSuite();
let core: Core;

beforeAll(async () => {
  core = await openCore({ atEnd });
});

const create = (body: object) => core.own('createToken', { body: { type: 'token', ...body } });
const masked = async (mask: unknown, data: unknown) => {
  const answer = await create({ data, mask });
  expect(answer.status, answer.text).toBe(201);
  return answer.at('data');
};

describe('expressions (decisions §4)', () => {
  it.each([5, true, 'text', [1, null], { a: { b: 1 } }])('a single expression keeps the type of %j', async (data) => {
    expect(await masked('{{ data }}', data)).toEqual(data);
  });

  it('surrounding text or several expressions make a string', async () => {
    expect(await masked('n{{ data }}', 5)).toBe('n5');
    expect(await masked('{{ data }}{{ data }}', 5)).toBe('55');
  });

  it('evaluates paths, literals and chained filters', async () => {
    const data = { a: { b: ['x', 'secret'] } };
    expect(await masked('{{ data.a.b[1] | upcase | last4 }}', data)).toBe('CRET');
    expect(await masked("{{ 'literal' | append: '!' }}", data)).toBe('literal!');
    expect(await masked('{{ 5 | plus: 1 }}', data)).toBe(6);
  });

  it('a missing member is null and passes through stringify, to_* and pad_*', async () => {
    for (const filter of [
      'stringify',
      'to_string',
      'to_number',
      'to_boolean',
      "pad_left: 4, '0'",
      "pad_right: 4, '0'",
    ]) {
      expect(await masked({ gone: `{{ data.missing | ${filter} }}`, kept: 1 }, { a: 1 })).toEqual({ kept: 1 });
    }
  });

  it('a null or empty search index is rejected', async () => {
    for (const [index, data] of [
      ['{{ data.b }}', { a: 1 }],
      ['{{ data }}', ''],
    ] as const) {
      expect(wrongPaths(await create({ data, search_indexes: [index] }))).toEqual(['search_indexes.0']);
    }
  });

  it('an id that renders to nothing is rejected instead of becoming null', async () => {
    const body = { id: '{{ data.name }}', type: 'token', data: { name: null } };
    expect(wrongPaths(await core.own('createToken', { body }))).toEqual(['id']);
    expect((await core.own('getToken', { id: 'null' })).status).toBe(404);
  });

  it('a mask may be any JSON: strings are evaluated at every depth, other values are constants', async () => {
    const mask = { a: [{ b: '{{ data.x | last4 }}' }, 1, true], fixed: 'text', gone: '{{ data.nope }}' };
    expect(await masked(mask, { x: '12345', y: 'secret' })).toEqual({ a: [{ b: '2345' }, 1, true], fixed: 'text' });
    expect(await masked(0, 'secret')).toBe(0);
    expect(await masked(false, 'secret')).toBe(false);
  });

  it('a mask that renders to nothing redacts', async () => {
    expect(await masked('{{ data.nope }}', { a: 'secret' })).toBeUndefined();
  });

  it.each([
    ['a tag', '{% if data %}x{% endif %}'],
    ['an unknown filter', '{{ data | nope }}'],
    ['a missing argument', '{{ data | reveal_last }}'],
    ['a wrong argument', "{{ data | reveal_last: 'x' }}"],
    ['a negative length', '{{ data | reveal_last: -1 }}'],
    ['a failed cast', '{{ data | to_number }}'],
    ['an open expression', '{{ data'],
    ['a random filter outside of id', '{{ data | alias_card }}'],
    ['metadata outside of fingerprint_expression', '{{ metadata.a }}'],
  ])('%s is a 400 that names the member and the position', async (_what, mask) => {
    const answer = await create({ data: 'secret', mask: { deep: [mask] }, metadata: { a: 'b' } });
    expect(wrongPaths(answer)).toEqual(['mask.deep.0']);
    expect(String(answer.at('errors[mask.deep.0]'))).toMatch(/at character \d+$/);
    expect(answer.text).not.toContain('secret');
  });

  it.each(['search_indexes.0', 'fingerprint_expression', 'id'])(
    'names the member of a broken expression: %s',
    async (path) => {
      const member = path.split('.')[0] ?? '';
      const expression = '{{ data | nope }}';
      const answer = await create({ data: 'x', [member]: path === member ? expression : [expression] });
      expect(wrongPaths(answer)).toEqual([path]);
    },
  );

  it('a fingerprint expression can use data and metadata, the others only data', async () => {
    const printed = async (over: object) => (await create({ data: 'x', ...over })).at('fingerprint');
    const fingerprint_expression = '{{ metadata.a }}';
    const first = await printed({ fingerprint_expression, metadata: { a: '1' } });
    expect(await printed({ fingerprint_expression, metadata: { a: '1' }, data: 'y' })).toBe(first);
    expect(await printed({ fingerprint_expression, metadata: { a: '2' } })).not.toBe(first);
    for (const over of [{ search_indexes: [fingerprint_expression] }, { id: fingerprint_expression }]) {
      expect((await create({ data: 'x', metadata: { a: '1' }, ...over })).status).toBe(400);
    }
  });

  it('limits: 1 KiB an expression, 10 search indexes, 64 KiB of output', async () => {
    const long = `{{ data | append: '${'x'.repeat(1100)}' }}`;
    expect(wrongPaths(await create({ data: 'x', mask: long }))).toEqual(['mask']);
    expect(wrongPaths(await create({ data: 'x', fingerprint_expression: long }))).toEqual(['fingerprint_expression']);
    expect(wrongPaths(await create({ data: 'x', search_indexes: Array(11).fill('{{ data }}') }))).toEqual([
      'search_indexes',
    ]);
    expect((await create({ data: 'x', search_indexes: Array(10).fill('{{ data }}') })).status).toBe(201);
    expect(wrongPaths(await create({ data: 'x'.repeat(65_537), mask: '{{ data }}' }))).toEqual(['mask']);
    expect((await create({ data: 'x'.repeat(65_537) })).status).toBe(201);
  });
});

describe('filters (decisions §4)', () => {
  const cases: readonly (readonly [filter: string, data: unknown, result: unknown])[] = [
    ['reveal_last: 4', '123-45-6789', 'XXX-XX-6789'],
    ['reveal_last: 4', 'Sensitive Value', 'XXXXXXXXXXXalue'],
    ['reveal_last: 4', 'abc', 'abc'],
    ['reveal_last: 0', 'abc', 'XXX'],
    ["reveal_last: 2, '#'", 'abcd', '##cd'],
    ['reveal', 'a-b', 'XXX'],
    ['reveal: 1, 1', 'abcd', 'aXXd'],
    ['reveal: 2, 2', 'abcd', 'XXXX'],
    ["reveal: 1, 1, '*', '-'", 'ab-cd', 'a*-*d'],
    ["reveal: 0, 0, 'X', '-'", '--', 'XX'],
    ['last4', '12345', '2345'],
    ['last4', '12', '12'],
    ["pad_left: 2, '0'", 3, '03'],
    ["pad_right: 4, '-'", 'ab', 'ab--'],
    ["pad_left: 2, '0'", 'abc', 'abc'],
    ['stringify', { b: 1, a: [2] }, '{"b":1,"a":[2]}'],
    ['stringify', 'text', 'text'],
    ["json: '$.a[0].b'", { a: [{ b: 7 }] }, 7],
    ['to_string', 5, '5'],
    ['to_number', '1.5', 1.5],
    ['to_boolean', 'true', true],
    ["append: 'x'", 'a', 'ax'],
    ["prepend: 'x'", 'a', 'xa'],
    ["remove: '-'", '1-2-3', '123'],
    ["remove_first: '-'", '1-2-3', '12-3'],
    ["remove_last: '-'", '1-2-3', '1-23'],
    ["replace: '-', '.'", '1-2-3', '1.2.3'],
    ["replace_first: '-', '.'", '1-2-3', '1.2-3'],
    ["replace_last: '-', '.'", '1-2-3', '1-2.3'],
    ['slice: 1, 2', 'abcd', 'bc'],
    ["split: ',' | join: '+'", 'a,b', 'a+b'],
    ['first', ['a', 'b'], 'a'],
    ['last', ['a', 'b'], 'b'],
    ['size', 'abc', 3],
    ['upcase', 'a', 'A'],
    ['downcase', 'A', 'a'],
    ['capitalize', 'ab', 'Ab'],
    ["strip | append: '|'", ' a ', 'a|'],
    ["lstrip | append: '|'", ' a ', 'a |'],
    ["rstrip | append: '|'", ' a ', ' a|'],
    ['truncate: 5', 'abcdefgh', 'ab...'],
    ['truncatewords: 1', 'ab cd', 'ab...'],
    ["default: 'x'", '', 'x'],
    ['reverse', ['a', 'b'], ['b', 'a']],
    ['plus: 2', 5, 7],
    ['minus: 2', 5, 3],
    ['times: 2', 5, 10],
    ['divided_by: 2', 5, 2],
    ['modulo: 2', 5, 1],
    ['round', 1.6, 2],
    ['ceil', 1.2, 2],
    ['floor', 1.8, 1],
    ['abs', -5, 5],
  ];

  it.each(cases)('%s of %j gives %j', async (filter, data, result) => {
    expect(await masked(`{{ data | ${filter} }}`, data)).toEqual(result);
  });

  it.each([
    ['pad_left: 2', 'a'],
    ["json: '$.a[*]'", { a: [1, 2] }],
    ["json: '$.b'", { a: 1 }],
    ['json: \'$[?match(@.a, "x")]\'', { a: 1 }],
    ['json', { a: 1 }],
    ['to_string', [1]],
    ['to_number', 'x'],
    ['to_boolean', 'maybe'],
  ])('%s of %j is rejected', async (filter, data) => {
    expect(wrongPaths(await create({ data, mask: `{{ data | ${filter} }}` }))).toEqual(['mask']);
  });

  it.each([
    ['alias_preserve_format', 'ab-12', /^[a-z]{2}-\d{2}$/],
    ['alias_preserve_format: 1, 1', 'ab-12', /^a[a-z]-\d2$/],
    ['alias_preserve_length', 'ab-12', /^[A-Za-z0-9]{5}$/],
    ['alias_card: false, true', '4242424242424242', /^\d{12}4242$/],
    ['alias_card: 6, 4', '4242424242424242', /^424242\d{6}4242$/],
  ])('%s makes an id of %s', async (filter, data, form) => {
    const answer = await create({ data, id: `{{ data | ${filter} }}` });
    expect(answer.at('id')).toMatch(form);
    expect(answer.at('id')).not.toBe(data);
  });
});
