import { expect, it, onTestFinished } from 'vitest';
import { openForKeyHolder } from '../../src/vault/key-holder.ts';
import { rotateTenant } from '../../src/vault/keys/rotate-tenant.ts';
import { type Beside, storeBeside } from '../unit/rotate-beside-fixture.ts';
import { CREDENTIAL, callVault } from '../unit/vault-admin-fixture.ts';
import { between, servedStore } from './served-store.ts';

/** The number of tokens that the daemon creates after each write of the rotation. */
const CREATED = 40;

async function rotation(work: Partial<Beside> = {}) {
  const vault = await servedStore();
  const create = async () => {
    const body = { type: 'token', data: 1 };
    const made = Array.from({ length: CREATED }, () => callVault(vault.daemon, vault.apiKey, 'createToken', { body }));
    for (const { status } of await Promise.all(made)) expect(status).toBe(201);
  };
  const opened = await openForKeyHolder({ ...vault.at, credential: CREDENTIAL });
  onTestFinished(() => opened.close());
  const { store, opened: rows } = storeBeside(opened.store, {
    afterWrite: create,
    beforeChange: async (method) => {
      if (method === 'removeTenantKey') await work.beforeChange?.(method);
    },
  });
  const [tenantId = ''] = await vault.query('SELECT id FROM vault.tenant');
  const rotate = () => rotateTenant({ ...opened, store }, tenantId, { indexes: false }, () => undefined);
  return { ...vault, create, rotate, rows };
}

it('a rotation opens few rows under the lock, however many daemons write', async () => {
  const { rotate, rows, doctor } = await rotation();
  expect(await rotate()).toMatchObject({ key_id: 3, resumed: false });
  // The new key and the removal of the former one.
  expect(rows).toHaveLength(2);
  expect(Math.max(...rows)).toBeLessThanOrEqual(3);
  expect(await doctor()).toMatchObject({ ok: true });
});

it('a prune before the removal of a key repeats the removal', async () => {
  let prune: (() => Promise<unknown>) | undefined;
  const { rotate, rows, doctor, ...vault } = await rotation({
    beforeChange: async () => {
      await prune?.();
      prune = undefined;
    },
  });
  prune = async () => {
    await vault.create();
    await vault.prune('old', await between());
  };
  expect(await rotate()).toMatchObject({ key_id: 3 });
  expect(prune).toBeUndefined();
  expect(rows).toHaveLength(3);
  expect(await vault.query('SELECT key_id FROM vault.tenant_key WHERE purpose = 1')).toHaveLength(1);
  expect(await doctor()).toMatchObject({ ok: true });
});
