import { describe, expect, it } from 'vitest';
import { openVaultAdmin, resetVault } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import { findSoundTenant } from '../../src/vault/tenants/find-sound-tenant.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { DAMAGE, expectOthers } from './damaged-tenant-fixture.ts';
import { CREDENTIAL, callOnce, fileVault, prune, withAdmin, withVault } from './vault-admin-fixture.ts';

/** Creates a vault whose second tenant can be damaged. */
async function threeTenants() {
  const { file, folder, tenantId, apiKey } = await fileVault(2);
  const [damaged, last] = await withVault(file, async (vault) => [
    await vault.createTenant('damaged'),
    await vault.createTenant('last'),
  ]);
  const tenants = {
    first: tenantId,
    damaged: damaged?.tenant.id ?? '',
    last: last?.tenant.id ?? '',
    management: last?.application.key ?? '',
  };

  async function damage({ sql, pruned }: (typeof DAMAGE)[number]): Promise<void> {
    if (pruned) {
      await prune({ file, folder });
    }
    await tamperFile(file, (connection) => {
      connection.exec('PRAGMA foreign_keys = OFF');
      connection.exec(sql.replace('vault.', '').replace('$T', '2'));
    });
  }

  /** Reads the rows of the damaged tenant. */
  async function rows(): Promise<unknown> {
    const found: unknown[] = [];
    await tamperFile(file, (connection) => {
      for (const table of ['tenant', 'tenant_key', 'application', 'application_key']) {
        found.push(connection.prepare(`SELECT * FROM ${table} WHERE tenant = 2`).safeIntegers().all());
      }
    });
    return found;
  }

  return { file, apiKey, tenants, damage, rows };
}

describe.each(DAMAGE)('a damaged tenant of a file: $what', (damage) => {
  it('does not stop commands on other tenants', async () => {
    const made = await threeTenants();
    await made.damage(damage);
    await expectOthers({ file: made.file }, made.tenants, damage, made.rows);
  });

  it('keeps its tokens in a reset of all tenants', async () => {
    const { file, apiKey, tenants, ...made } = await threeTenants();
    await made.damage(damage);
    const before = await made.rows();
    expect(await resetVault({ file, credential: CREDENTIAL }, undefined)).toEqual({
      removed_tokens: 2,
      damaged: [tenants.damaged],
    });
    expect(await made.rows()).toEqual(before);
    const listed = await callOnce({ file }, apiKey, 'listTokens');
    expect(listed).toMatchObject({ status: 200, body: { data: [] } });
  });
});

it('a token that does not open keeps the keys of its tenant, and the others are rotated', async () => {
  const { file, tenants } = await threeTenants();
  const { first: damaged, damaged: second, last } = tenants;
  await tamperFile(file, (connection) => connection.exec('UPDATE token SET full = substr(full, 2)'));
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  const rotated = await admin.rotate({ indexes: false, master: false });
  expect(rotated).toMatchObject({ damaged: [damaged], tenants: [{ tenant_id: second }, { tenant_id: last }] });
  const keys = (await admin.status()).tenants.map((tenant) => tenant.keys.map(({ key_id }) => key_id));
  expect(keys).toEqual([
    [1, 2, 3],
    [2, 3],
    [2, 3],
  ]);
  await admin.close();
});

it('an older row that is put back while the vault is open is damage', async () => {
  const { file, tenants } = await threeTenants();
  await withVault(file, async (vault) => {
    expect(await vault.listTenants()).not.toHaveProperty('damaged');
    const before = await keepRows(file);
    const update = { body: { name: 'new' } };
    await callOnce({ file }, tenants.management, 'updateTenant', update);
    await putBack(file, before, ['tenant']);
    expect(await vault.listTenants()).toMatchObject({ damaged: [tenants.last] });
  });
});

it('an older row that is put back behind a change that is not followed yet is damage', async () => {
  const { file, tenants } = await threeTenants();
  const { close, ...parts } = await openFileForKeyHolder({ file, credential: CREDENTIAL });
  expect(await findSoundTenant(parts, tenants.last)).toMatchObject({ record: { id: tenants.last } });
  const before = await keepRows(file);
  await callOnce({ file }, tenants.management, 'updateTenant', { body: { name: 'new' } });
  await putBack(file, before, ['tenant']);
  await expect(findSoundTenant(parts, tenants.last)).rejects.toMatchObject({ code: 'integrity_failure' });
  await close();
});

it('a damaged log rejects the list, and no tenant counts as damaged', async () => {
  const { file } = await threeTenants();
  await tamperFile(file, (connection) =>
    connection.exec('UPDATE audit SET sealed = substr(sealed, 2) WHERE sequence > 1'),
  );
  await withVault(file, async (vault) => {
    await expect(vault.listTenants()).rejects.toMatchObject({ code: 'integrity_failure' });
  });
});

it('without damage, the results name no tenant', async () => {
  const { file, tenants } = await threeTenants();
  const ids = [tenants.first, tenants.damaged, tenants.last];
  const listed = await withVault(file, (vault) => vault.listTenants());
  expect(listed).toEqual({ tenants: ids.map((id) => expect.objectContaining({ id })) });
});

describe('a tenant that is hidden', () => {
  const HIDDEN: readonly (readonly [what: string, sql: string])[] = [
    ['without a row', 'DELETE FROM tenant WHERE tenant = 2'],
    ['whose id was cut', "UPDATE tenant SET id = x'00' WHERE tenant = 2"],
    ['without a row and keys', 'DELETE FROM tenant WHERE tenant = 2; DELETE FROM tenant_key WHERE tenant = 2'],
  ];

  it.each(HIDDEN)('%s is named, and keeps the master key', async (_what, sql) => {
    const { file, tenants } = await threeTenants();
    await tamperFile(file, (connection) => void connection.exec(`PRAGMA foreign_keys = OFF; ${sql}`));
    const damaged = [tenants.damaged];
    expect(await withVault(file, (vault) => vault.listTenants())).toMatchObject({ damaged });
    const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
    try {
      expect(await admin.rotate({ master: false, indexes: false })).toMatchObject({ damaged });
      await expect(admin.rotate({ master: true, indexes: false })).rejects.toMatchObject({ code: 'integrity_failure' });
    } finally {
      await admin.close();
    }
  });

  it('of which one key is hidden keeps the master key', async () => {
    const { file, tenants } = await threeTenants();
    await tamperFile(file, (connection) => connection.exec('DELETE FROM tenant_key WHERE tenant = 2 AND purpose = 2'));
    const rotated = withAdmin(file, (admin) => admin.rotate({ master: true, indexes: false }));
    const detail = expect.stringContaining(`keys of tenant ${tenants.damaged} differ from the audit`);
    await expect(rotated).rejects.toMatchObject({ code: 'integrity_failure', detail });
  });
});
