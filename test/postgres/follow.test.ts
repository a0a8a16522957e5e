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
});
