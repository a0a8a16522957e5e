import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { parseStore, type StoreLocation } from '../../src/vault/location.ts';
import { createStoreVault } from '../../src/vault/store-vault.ts';
import { CREDENTIAL } from '../unit/vault-admin-fixture.ts';
import { createDatabase } from './create-database.ts';
import { openTestClient } from './write-queue-fixture.ts';

async function withAdmin<T>(
  store: StoreLocation,
  work: (admin: Awaited<ReturnType<typeof openVaultAdmin>>) => Promise<T>,
): Promise<T> {
  const admin = await openVaultAdmin({ store, credential: CREDENTIAL });
  try {
    return await work(admin);
  } finally {
    await admin.close();
  }
}

/** Creates a vault that a role serves, and opens it as the owner and as this role. */
async function twoRoles() {
  const url = await createDatabase();
  const owner = parseStore(`${url}?sslmode=disable`, false);
  const { run } = await openTestClient(owner.url);
  const role = `server_${path.basename(new URL(url).pathname)}`;
  await run({ text: `CREATE ROLE ${role} LOGIN` });
  onTestFinished(async () => {
    await run({ text: `DROP OWNED BY ${role}` });
    await run({ text: `DROP ROLE ${role}` });
  });
  await createStoreVault({
    store: owner,
    credential: CREDENTIAL,
    tenantName: 't',
    weakPassphrase: false,
    grant: role,
  });
  return { run, role, owner, server: { ...owner, url: { ...owner.url, user: role } } };
}

it('a prune by a role without DELETE changes nothing, and one of the owner succeeds', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'vault-prune-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const archive = (name: string) => archiveFile('--archive', path.join(folder, name));
  const { run, owner, server } = await twoRoles();
  const rows = async () => (await run({ text: 'SELECT sequence FROM vault.audit WHERE sequence > 0' })).flat();
  const before = await rows();
  const time = Date.now() + 60_000;

  const refused = withAdmin(server, (admin) => admin.pruneAudit(time, archive('refused')));
  await expect(refused).rejects.toMatchObject({ code: 'store_refused', hint: expect.stringContaining('as the owner') });
  expect(await rows()).toEqual(before);
  await withAdmin(owner, async (admin) => {
    expect(await admin.verifyAudit()).toMatchObject({ ok: true });
    expect(existsSync(path.join(folder, 'refused'))).toBe(false);
    expect(await admin.pruneAudit(1, archive('none'))).toEqual({ removed: 0 });
    expect(await admin.pruneAudit(time, archive('owner'))).toMatchObject({ removed: expect.any(Number) });
    expect(await admin.verifyAudit()).toMatchObject({ ok: true });
  });
  expect(existsSync(path.join(folder, 'none'))).toBe(false);
  // The base has the place of the last removed row.
  const left = (await rows()).filter((sequence) => before.includes(sequence));
  expect(left.length).toBeLessThan(2);
});

it.each(['reply', 'audit', 'sweep', 'tenant_key'])('doctor names the right to %s that a role lacks', async (table) => {
  const { run, role, server } = await twoRoles();
  await run({ text: `REVOKE SELECT ON vault.${table} FROM ${role}` });
  expect(await checkVaultFile({ store: server, credential: CREDENTIAL })).toMatchObject({
    ok: false,
    findings: [{ table: 'schema', id: `SELECT on ${table}`, what: 'the role of this command lacks the right' }],
  });
});
