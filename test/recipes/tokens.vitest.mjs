import { VaultError } from 'token-vault/client';
import { startVault } from 'token-vault/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let vault;
beforeAll(async () => {
  vault = await startVault();
});
beforeEach(() => vault.reset());
afterAll(() => vault.stop());

test('a card survives a round trip', async () => {
  const { id } = await vault.client.createToken({ body: { type: 'card', data: { number: '4242424242424242' } } });
  expect(await vault.client.getToken({ params: { id } })).toMatchObject({ data: { number: '4242424242424242' } });
});

test('a token ends', async () => {
  const expires_at = new Date(Date.now() + 24 * 3_600_000).toISOString();
  const { id } = await vault.client.createToken({ body: { type: 'token', data: 'pin', expires_at } });
  await vault.clock.advance(25 * 3_600_000);
  await expect(vault.client.getToken({ params: { id } })).rejects.toThrow(VaultError);
});

test('a client tries again', async () => {
  await vault.faults.set({ request: 'POST /tokens', status: 429, times: 2, retry_after: 0 });
  const create = () => vault.client.createToken({ body: { type: 'token', data: 1 } });
  await expect(create()).rejects.toMatchObject({ code: 'too_many_requests', retryAfter: 0 });
  await expect(create()).rejects.toMatchObject({ status: 429 });
  expect((await create()).id).toBeTypeOf('string');
});
