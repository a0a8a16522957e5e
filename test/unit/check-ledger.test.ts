import { expect, it } from 'vitest';
import { createAudit } from '../../src/core/audit/audit.ts';
import type { AuditEvent } from '../../src/core/audit/audit-event.ts';
import { createFollower } from '../../src/core/audit/follower.ts';
import { isOfAuthority } from '../../src/core/audit/record-digest.ts';
import { createKeyring } from '../../src/keyring/create-keyring.ts';
import { startLedgerCheck } from '../../src/maintenance/check-ledger.ts';
import { headerEvent } from '../../src/maintenance/header-event.ts';
import { openTestStore } from '../test-store.ts';

const [TENANT, OTHER] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

/**
 * Creates the audit of two tenants, one of them with a token, and starts a check in which that token's row is missing.
 */
async function begun(behind = 0) {
  let time = Date.now();
  const clock = { now: () => time, cutoff: () => time, settled: () => time };
  const { keyring, header } = await createKeyring({ kind: 'key_file', key: new Uint8Array(32) }, { now: time });
  const store = await openTestStore(header);
  const follower = createFollower({ store, keyring });
  const audit = createAudit({ store, keyring, follower, clock, level: 'reveal', strict: true });
  await follower.follow();
  const write = (event: AuditEvent) =>
    isOfAuthority(event) ? store.appendAuthority(audit.draftAuthority(event)) : store.appendAudit([audit.draft(event)]);
  await write(headerEvent('createVault', await store.header()));
  for (const tenant_id of [TENANT, OTHER]) {
    const entities = [`app-of-${tenant_id}`];
    await write({ action: 'createTenant', status: 200, tenant_id, revision: 1, entities });
  }
  const application_id = `app-of-${TENANT}`;
  await write({
    action: 'createToken',
    status: 201,
    application_id,
    tenant_id: TENANT,
    revision: 1,
    entities: ['lost'],
  });
  const check = await startLedgerCheck({ store, keyring, now: time - behind });
  for (const tenant of [TENANT, OTHER]) {
    check.saw('tenant', tenant, tenant, { revision: 1, created_at: time });
    check.saw('application', tenant, `app-of-${tenant}`, { revision: 1, created_at: time });
    for (const key of ['1', '2']) check.saw('tenant_key', tenant, key, undefined);
  }
  const reset = async (tenant_id: string, age = 0) => {
    time -= age;
    await write({ action: 'resetTokens', status: 200, tenant_id, entities: [] });
  };
  return { check, reset };
}

const LOST = { table: 'token', id: 'lost', what: expect.stringContaining('removed outside the vault') };

it('reports a missing row even when another tenant is reset during the check', async () => {
  const { check, reset } = await begun();
  await reset(OTHER);
  expect(await check.findings()).toEqual([LOST]);
});

it('does not call an entry late whose clock is behind the one of the machine', async () => {
  const { check, reset } = await begun(3_600_000);
  await reset(OTHER, 3_600_000);
  expect(await check.findings()).toEqual([LOST]);
});

it('reports a reset during the check instead of calling the vault sound', async () => {
  const { check, reset } = await begun();
  await reset(TENANT);
  expect(await check.findings()).toEqual([
    { table: 'tenant', id: TENANT, what: expect.stringContaining('run the check again') },
  ]);
});

it('reports an entry that was removed and put back, as it is older than the check', async () => {
  const { check, reset } = await begun();
  await reset(TENANT, 60_000);
  expect(await check.findings()).toEqual([
    { table: 'audit', id: '5', what: expect.stringContaining('was removed and restored') },
  ]);
});
