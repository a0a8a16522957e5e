import { beforeEach, describe, expect, it } from 'vitest';
import { callVault } from '../unit/vault-admin-fixture.ts';
import { type ServedStore, serve, servedStore } from './served-store.ts';
import { lossesOf } from './write-queue-fixture.ts';

let vault: ServedStore;
beforeEach(async () => {
  vault = await servedStore();
});

const read = () => callVault(vault.daemon, vault.apiKey, 'listTokens');

describe('a daemon', () => {
  it('reports rows that it knew and the server has lost, and goes on', async () => {
    const [last] = await vault.query('SELECT max(sequence) FROM vault.audit');
    await vault.change(vault.daemon, 'one-1');
    await vault.change(vault.daemon, 'one-2');
    expect(await read()).toMatchObject({ status: 200 });
    const losses = lossesOf();
    await vault.query(`DELETE FROM vault.audit WHERE sequence > ${last}`);
    expect(await read()).toMatchObject({ status: 200 });
    expect(losses).toEqual([{ missing: 2 }]);
    expect(await vault.change(vault.daemon, 'one-3')).toBe(200);
    expect(await read()).toMatchObject({ status: 200 });
    expect(losses).toHaveLength(1);
  });

  it('uses the current application after a failover that lost its last change, at the same place and revision', async () => {
    const body = { name: 'b', type: 'private', permissions: ['token:read'] };
    const { id, key } = (await callVault(vault.daemon, vault.management, 'createApplication', { body })).body;
    const list = (daemon: ServedStore['daemon']) => callVault(daemon, key, 'listTokens');
    const update = (daemon: ServedStore['daemon'], permission: string) =>
      callVault(daemon, vault.management, 'updateApplication', { id, body: { name: 'b', permissions: [permission] } });
    await vault.query('CREATE TEMPORARY TABLE kept_rows AS SELECT * FROM vault.application');
    const [last] = await vault.query('SELECT max(sequence) FROM vault.audit');
    expect(await update(vault.daemon, 'token:create')).toMatchObject({ status: 200 });
    // This daemon opens the audit at the row that is lost.
    const beside = await serve(vault.at);
    expect(await list(beside)).toMatchObject({ status: 403 });
    await vault.query(`DELETE FROM vault.audit WHERE sequence > ${last}`);
    await vault.query('DELETE FROM vault.application');
    await vault.query('INSERT INTO vault.application OVERRIDING SYSTEM VALUE SELECT * FROM kept_rows');
    expect(await update(await serve(vault.at), 'token:read')).toMatchObject({ status: 200 });
    expect(await list(beside)).toMatchObject({ status: 200 });
  });

  it('refuses every call after a row that another process did not write', async () => {
    await read();
    await vault.query(`INSERT INTO vault.audit SELECT sequence + 1, at, link, sealed FROM vault.audit
      WHERE sequence = (SELECT max(sequence) FROM vault.audit)`);
    expect(await read()).toMatchObject({ status: 500 });
  });

  it('refuses an application that was put back, in the next call and after a start', async () => {
    const body = { name: 'b', type: 'private', permissions: ['token:read'] };
    const { id, key } = (await callVault(vault.daemon, vault.management, 'createApplication', { body })).body;
    const list = (daemon = vault.daemon) => callVault(daemon, key, 'listTokens');
    expect(await list()).toMatchObject({ status: 200 });
    const tables = ['application', 'application_key'];
    for (const table of tables)
      await vault.query(`CREATE TEMPORARY TABLE kept_${table} AS SELECT * FROM vault.${table}`);
    await callVault(vault.daemon, vault.management, 'deleteApplication', { id });
    expect(await list()).toMatchObject({ status: 401 });
    for (const table of tables) {
      await vault.query(`INSERT INTO vault.${table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_${table}
        ON CONFLICT DO NOTHING`);
    }
    expect(await list()).toMatchObject({ status: 500 });
    expect(await list(await serve(vault.at))).toMatchObject({ status: 500 });
    expect(await read()).toMatchObject({ status: 200 });
  });
});
