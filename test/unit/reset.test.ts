import { join } from 'node:path';
import { expect, it } from 'vitest';
import { archiveFile } from '../../src/cli/archive-file.ts';
import { resetTokens } from '../../src/maintenance/reset-tokens.ts';
import { rotateTenant } from '../../src/maintenance/rotate-tenant.ts';
import { checkVaultFile, openVaultAdmin, resetVault } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { openVault } from '../../src/vault/vault.ts';
import { keepRows, putBack, TOKENS } from '../checks/put-back.ts';
import { CREDENTIAL, callVault, type FileVault, fileVault, withVault } from './vault-admin-fixture.ts';

const reset = (file: string, tenantId?: string) => resetVault({ file, credential: CREDENTIAL }, tenantId);
const check = (file: string) => checkVaultFile({ file, credential: CREDENTIAL });

const create = ({ file, apiKey }: FileVault, data: string) =>
  withVault(file, (vault) => callVault(vault, apiKey, 'createToken', { body: { id: 'one', type: 'token', data } }));
const read = ({ file, apiKey }: FileVault) =>
  withVault(file, (vault) => callVault(vault, apiKey, 'getToken', { id: 'one' }));

it('a reset removes all tokens of a tenant from the file and frees their ids', async () => {
  const { file, apiKey, management, tenantId } = await fileVault(4);
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'deleteToken', { id: 'token-3' });
    const other = await vault.createTenant('other');
    expect(await reset(file, other.tenant.id)).toBe(0);
    expect(await reset(file, tenantId)).toBe(3);
    expect((await callVault(vault, apiKey, 'listTokens')).body['data']).toEqual([]);
    const usage = await callVault(vault, management, 'getUsageReport');
    expect(usage.body).toMatchObject({ token_report: { metrics_by_type: {} } });
    const again = { body: { id: 'token-3', type: 'token', data: 3 } };
    expect((await callVault(vault, apiKey, 'createToken', again)).status).toBe(201);
  });
  expect(await check(file)).toMatchObject({ ok: true });
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
  expect(await check(vault.file)).toMatchObject({ ok: true });
  await putBack(vault.file, before, TOKENS);
  expect(await read(vault)).toMatchObject({ status: 500 });
  expect((await check(vault.file)).findings).toContainEqual(expect.objectContaining({ table: 'token', id: 'one' }));
});

/** Runs a reset that ends before it replaces the data key. */
async function killedReset({ file }: FileVault): Promise<void> {
  const opened = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  const addTenantKey = () => Promise.reject(new Error('killed'));
  const killed = resetTokens({ ...opened, store: { ...opened.store, addTenantKey } }, undefined);
  await expect(killed).rejects.toThrow('killed');
  await opened.close();
}

/** Removes all audit entries up to now, so that only the checkpoint has the time of the reset. */
async function prune({ file, folder }: FileVault): Promise<void> {
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  await admin.pruneAudit(Date.now() + 60_000, archiveFile('--archive', join(folder, 'old')));
  await admin.close();
}

it.each([
  ['', async () => undefined],
  [' and a prune', prune],
])('doctor finds an older row of a token after a reset that was killed before the new key%s', async (_what, act) => {
  const vault = await fileVault(0);
  const hourAgo = () => Date.now() - 3_600_000;
  const clock = { now: hourAgo, cutoff: hourAgo, settled: hourAgo };
  const earlier = await openVault({ file: vault.file, credential: CREDENTIAL, clock });
  await callVault(earlier, vault.apiKey, 'createToken', { body: { id: 'one', type: 'token', data: 'old' } });
  await earlier.close();
  const before = await keepRows(vault.file);
  await killedReset(vault);
  await create(vault, 'new');
  await act(vault);
  expect(await check(vault.file)).toMatchObject({ ok: true });
  await putBack(vault.file, before, TOKENS);
  const older = { table: 'token', id: 'one', what: expect.stringContaining('is older than the last reset') };
  expect((await check(vault.file)).findings).toContainEqual(older);
});
