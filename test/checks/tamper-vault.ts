import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directClient } from '../../src/client/direct.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { openVaultAt } from '../../src/vault/location.ts';
import { makeFolder } from './folder.ts';
import { createCaller } from './perform.ts';
import { FILE_LOCATIONS } from './tamper-locations.ts';

const PASSPHRASE: Credential = { kind: 'passphrase', passphrase: 'a passphrase of a check' };

const ALL = ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'];
const rule = (transform: string, permissions: readonly string[], container = '/') => {
  return { description: '', priority: 1, container, transform, permissions };
};

export type TamperVault = Awaited<ReturnType<typeof makeTamperVault>>;

/** Creates a closed vault with two tenants and rows in every table. The last change creates `token-3`. */
export async function makeTamperVault(seed: number, locations = FILE_LOCATIONS) {
  const { path: folder, [Symbol.dispose]: remove } = makeFolder();
  const name = locations.nameIn(folder, `sound${seed}`);
  const keyFile = join(folder, 'vault.key');
  const key = new Uint8Array(32).map((_, at) => (seed * 31 + at * 7) % 251);
  writeFileSync(keyFile, key, { mode: 0o600 });
  const credential = { kind: 'key_file', key } as Credential;
  const { vault, key: management } = await locations.create(name, { credential, tenantName: 'first' });
  const perform = createCaller(() => directClient(vault));
  const other = (await vault.createTenant('second')).application.key ?? '';

  async function addApplication(body: object, by = management): Promise<string> {
    return String((await perform(by, 'createApplication', { body })).body['key']);
  }

  const apiKey = await addApplication({
    name: 'everything',
    type: 'private',
    rules: [rule('reveal', ALL)],
    can_create_expiring_applications: true,
  });
  const condition = { attribute: 'container', operator: 'starts_with', value: '/' };
  const readers = [
    apiKey,
    await addApplication({
      name: 'mask',
      type: 'private',
      rules: [rule('mask', ['token:read', 'token:search'], '/pci/')],
    }),
    await addApplication({ name: 'redact', type: 'private', rules: [rule('redact', ['token:read'])] }),
    await addApplication({ name: 'plain', type: 'private', permissions: ['token:read', 'token:search'] }),
    await addApplication(
      {
        name: 'expiring',
        type: 'expiring',
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        rules: [
          { description: '', priority: 1, conditions: [condition], transform: 'mask', permissions: ['token:read'] },
        ],
      },
      apiKey,
    ),
  ];
  const foreign = await addApplication({ name: 'other', type: 'private', rules: [rule('reveal', ALL)] }, other);

  const token = (body: object, by = apiKey) => perform(by, 'createToken', { body });
  const simple = (n: number) => {
    return { id: `token-${n}`, type: 'token', data: seed + n, mask: '{{ data }}', metadata: { tag: `tag ${n}` } };
  };
  for (const n of [0, 1, 2]) await token(simple(n));
  await token({ ...simple(1), data: 'of the second tenant', metadata: { tag: 'tag 2' } }, foreign);
  const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' };
  await token({ id: 'card', type: 'card', data: card, containers: ['/pci/high/', '/other/'] });
  await token({ id: 'ssn', type: 'social_security_number', data: '123-45-6789' });
  await token({ id: 'ends', type: 'token', data: 'soon', expires_at: new Date(Date.now() + 86_400_000).toISOString() });
  await perform(apiKey, 'updateToken', { id: 'token-2', body: { data: 'changed', metadata: { more: 'x' } } });
  for (const id of ['gone', 'gone-too']) {
    await token({ id, type: 'token', data: id });
    await perform(apiKey, 'deleteToken', { id });
  }
  await vault.close();
  const admin = await openVaultAdmin({ ...locations.at(name), credential });
  await admin.addSlot(PASSPHRASE, { allowWeak: true });
  await admin.close();
  const again = await openVaultAt(locations.at(name), { credential });
  await createCaller(() => directClient(again))(apiKey, 'createToken', { body: simple(3) });
  await again.sweep();
  await again.close();
  return {
    folder,
    locations,
    name,
    keyFile,
    credential,
    passphrase: PASSPHRASE,
    apiKey,
    management,
    /** API keys that read tokens: revealed, masked, redacted, by plain permission, expiring, in the second tenant. */
    readers: [...readers, foreign],
    managers: [management, other],
    tokens: ['token-0', 'token-1', 'token-2', 'token-3', 'card', 'ssn', 'ends', 'gone', 'gone-too'],
    [Symbol.dispose]: remove,
  };
}
