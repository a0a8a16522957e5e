import { expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { openTestVault } from '../test-vault.ts';

it('a preview reads no token, writes nothing and shows no fingerprint', async () => {
  const asked: string[] = [];
  const storeOf = (file: Store) =>
    new Proxy(file, {
      get(target, name, receiver) {
        if (/token|duplicate|insert|replace|append/i.test(String(name))) asked.push(String(name));
        return Reflect.get(target, name, receiver);
      },
    });
  const world = await openTestVault('preview', { storeOf });
  const key = await world.application({ name: 'a', type: 'private', permissions: ['token:create', 'token:read'] });
  const body = { id: 'tok-1', type: 'token', data: 'secret', deduplicate_token: true };
  expect((await world.call(key, 'createToken', { body })).status).toBe(201);
  asked.length = 0;
  const { status, text } = await world.call(key, 'previewToken', { body });
  expect([status, asked]).toEqual([200, []]);
  expect(JSON.parse(text)).not.toHaveProperty('fingerprint');
  expect(JSON.parse(text)).toMatchObject({ id: 'tok-1', id_is: 'given', fingerprinted: '"secret"', search_values: [] });
  const sampled = await world.call(key, 'previewToken', { body: { ...body, id: '{{ data | last4 }}' } });
  expect(JSON.parse(sampled.text)).toMatchObject({ id: 'cret', id_is: 'sample' });
  // Control: a create does read one.
  expect((await world.call(key, 'createToken', { body })).status).toBe(201);
  expect(asked).not.toEqual([]);
});
