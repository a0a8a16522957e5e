import { expect, it } from 'vitest';
import { resetVault } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { resetTokens } from '../../src/vault/keys/reset-tokens.ts';
import { rotateTenant } from '../../src/vault/keys/rotate-tenant.ts';
import { keepRows, putBack, TOKENS } from '../checks/put-back.ts';
import {
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  withVault,
} from './vault-admin-fixture.ts';

const reset = (file: string, tenantId?: string) => resetVault({ file, credential: CREDENTIAL }, tenantId);

const create = ({ file, apiKey }: FileVault, data: string) =>
  callOnce({ file }, apiKey, 'createToken', { body: { id: 'one', type: 'token', data } });
const read = ({ file, apiKey }: FileVault) => callOnce({ file }, apiKey, 'getToken', { id: 'one' });

it('a reset removes all tokens of a tenant from the file and frees their ids', async () => {
  const { file, apiKey, management, tenantId } = await fileVault(4);
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-3' });
    const other = await vault.createTenant('other');
    expect(await reset(file, other.tenant.id)).toEqual({ removed_tokens: 0 });
    expect(await reset(file, tenantId)).toEqual({ removed_tokens: 3 });
    expect((await callVault(vault, apiKey, 'listTokens')).body['data']).toEqual([]);
    const usage = await callVault(vault, management, 'getUsageReport');
    expect(usage.body).toMatchObject({ token_report: { metrics_by_type: {} } });
    const again = { body: { id: 'token-3', type: 'token', data: 3 } };
    expect((await callVault(vault, apiKey, 'createToken', again)).status).toBe(201);
  });
  expect(await doctor(file)).toMatchObject({ ok: true });
  await expect(reset(file, '00000000-0000-4000-8000-000000000000')).rejects.toMatchObject({ code: 'not_found' });
});

/** Starts a rotation of the tenant's data key that ends before the first record is sealed again. */
async function startRotation({ file, tenantId }: FileVault): Promise<void> {
  const opened = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  const killed = () => {
    throw new Error('killed');
  };
  await expect(rotateTenant(opened, tenantId, { indexes: false }, killed)).rejects.toThrow('killed');
  await opened.close();
}

it.each([
  ['', async () => undefined],
  [' by the key of an unfinished rotation', startRotation],
])('an older row of a token, sealed%s, does not open after a reset', async (_what, prepare) => {
  const vault = await fileVault(0);
  await prepare(vault);
  await create(vault, 'old');
  const before = await keepRows(vault.file);
  await reset(vault.file);
  // The new token has the id and the revision of the old one.
  await create(vault, 'new');
  expect(await read(vault)).toMatchObject({ status: 200, body: { data: 'new' } });
  expect(await doctor(vault.file)).toMatchObject({ ok: true });
  await putBack(vault.file, before, TOKENS);
  expect(await read(vault)).toMatchObject({ status: 500 });
  expect((await doctor(vault.file)).findings).toContainEqual(expect.objectContaining({ table: 'token', id: 'one' }));
});

it.each(['addTenantKey', 'removeAllTokens'] as const)(
  'a reset that is killed at %s has removed nothing',
  async (step) => {
    const vault = await fileVault(0);
    await create(vault, 'old');
    const before = await keepRows(vault.file);
    const opened = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL });
    const store = { ...opened.store, [step]: () => Promise.reject(new Error('killed')) };
    await expect(resetTokens({ ...opened, store }, undefined)).rejects.toThrow('killed');
    await opened.close();
    expect(await read(vault)).toMatchObject({ status: 200, body: { data: 'old' } });
    expect(await doctor(vault.file)).toMatchObject({ ok: true });
    await reset(vault.file);
    await create(vault, 'new');
    await putBack(vault.file, before, TOKENS);
    expect(await read(vault)).toMatchObject({ status: 500 });
  },
);
