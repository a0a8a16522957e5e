import { describe, expect, it } from 'vitest';
import { WRITING } from '../vectors/access-rules.ts';
import { openAccessWorld, tokenBody } from './access-fixture.ts';

const EXPRESSIONS: Readonly<Record<string, object>> = {
  mask: { mask: '{{ data }}' },
  nothing: { mask: null },
  search_indexes: { search_indexes: ['{{ data }}'] },
  fingerprint_expression: { fingerprint_expression: '{{ data | size }}' },
};
const DONE = { create: 201, update: 200, delete: 204 } as const;

describe('writing needs the permission in every container', () => {
  it.each(WRITING)('$name ($origin)', async ({ application, operation, token, to, sets, allowed }) => {
    const world = await openAccessWorld();
    const key = await world.apply(application);
    const wanted = allowed ? DONE[operation] : 403;
    if (operation === 'create') {
      const made = await world.call(key, 'createToken', { body: tokenBody({ ...token, id: 'wanted' }) });
      expect(made.status).toBe(wanted);
      const read = await world.call(world.everything, 'getToken', { id: 'wanted' });
      expect(read.status).toBe(allowed ? 200 : 404);
      return;
    }
    const id = await world.token(token);
    const before = await world.call(world.everything, 'getToken', { id });
    if (operation === 'delete') {
      expect((await world.call(key, 'deleteToken', { id })).status).toBe(wanted);
      expect((await world.call(world.everything, 'getToken', { id })).status).toBe(allowed ? 404 : 200);
      return;
    }
    const body = { data: 'changed', ...(to && { containers: to }), ...EXPRESSIONS[sets ?? ''] };
    expect((await world.call(key, 'updateToken', { id, body })).status).toBe(wanted);
    const after = await world.call(world.everything, 'getToken', { id });
    if (!allowed) return expect(after.text).toBe(before.text);
    expect([after.at('data'), after.at('containers')]).toEqual(['changed', to ?? before.at('containers')]);
  });
});
