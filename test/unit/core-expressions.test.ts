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
});
