import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import { DAMAGE, expectOthers } from '../unit/damaged-tenant-fixture.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { newStore, serve } from './served-store.ts';
import { openTestClient } from './write-queue-fixture.ts';

/** Creates a vault whose second tenant is damaged. */
async function threeTenants({ sql, pruned }: (typeof DAMAGE)[number]) {
  const store = await newStore();
  const made = await createStoreVault({ store, credential: CREDENTIAL, tenantName: 'first', weakPassphrase: false });
  const vault = await serve({ store });
  const damaged = await vault.createTenant('damaged');
  const last = await vault.createTenant('last');
  await vault.close();
  const tenants = {
    first: made.tenant.id,
    damaged: damaged.tenant.id,
    last: last.tenant.id,
    management: last.application.key ?? '',
  };
  if (pruned) {
    const folder = await mkdtemp(join(tmpdir(), 'vault-damaged-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const admin = await openVaultAdmin({ store, credential: CREDENTIAL });
    await admin.pruneAudit(Date.now() + 60_000, archiveFile('--archive', join(folder, 'old'))).finally(admin.close);
  }
  const client = await openTestClient(store.url);
  const number = `(SELECT tenant FROM vault.tenant WHERE id = '${tenants.damaged}')`;
  await client.run({ text: sql.replace('$T', number) });
  const rows = () =>
    Promise.all(
      ['tenant', 'tenant_key', 'application', 'application_key'].map((table) =>
        client.run({ text: `SELECT r::text FROM vault.${table} r WHERE tenant = ${number} ORDER BY 1` }),
      ),
    );
  return { location: { store }, tenants, rows };
}

describe.each(DAMAGE)('a damaged tenant of a database: $what', (damage) => {
  it('does not stop commands on other tenants', async () => {
    const { location, tenants, rows } = await threeTenants(damage);
    expect(await rows()).not.toEqual([[], [], [], []]);
    await expectOthers(location, tenants, damage, rows);
  });
});
