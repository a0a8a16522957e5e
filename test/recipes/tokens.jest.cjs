const { startVault } = require('token-vault/testing');

let vault;
beforeAll(async () => {
  vault = await startVault();
});
beforeEach(() => vault.reset());
afterAll(() => vault.stop());

test('a card survives a round trip', async () => {
  const { id } = await vault.client.createToken({ body: { type: 'card', data: { number: '4242424242424242' } } });
  const { data } = await vault.client.getToken({ params: { id } });
  expect(data).toEqual({ number: '4242424242424242' });
});

test('a token ends', async () => {
  const expires_at = new Date(Date.now() + 24 * 3_600_000).toISOString();
  const { id } = await vault.client.createToken({ body: { type: 'token', data: 'pin', expires_at } });
  await vault.clock.advance(25 * 3_600_000);
  await expect(vault.client.getToken({ params: { id } })).rejects.toMatchObject({ code: 'token_not_found' });
});
