import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import type { Layout } from '../../src/store/sqlite/file/schema.ts';
import { addTenant, addToken, NOW } from '../conformance/store-fixtures.ts';
import { LATER } from './later-layout.ts';
import { rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

async function vaultWithToken() {
  const file = await temporaryVault();
  const { store } = await openVaultFile(file);
  const { id } = await addTenant(store);
  const token = await addToken(store, id);
  await store.close();
  return { file, token };
}

it('an open backs up an older file, updates it and keeps its contents', async () => {
  const { file, token } = await vaultWithToken();
  for (let times = 0; times < 2; times += 1) {
    const { store } = await openVaultFile(file, { busyDeadlineMs: 1000, layout: LATER });
    expect(await store.findToken(token.tenant_id, token.id, NOW)).toMatchObject({ id: token.id });
    await store.close();
  }
  expect(readdirSync(dirname(file)).sort()).toEqual(['vault.db', 'vault.db.v1.backup']);
  if (process.platform !== 'win32') expect(statSync(`${file}.v1.backup`).mode & 0o777).toBe(0o600);
  // The updated file is too new for the current layout; its backup is not.
  await expect(openVaultFile(file)).rejects.toMatchObject({ code: 'newer_format' });
  const { store } = await openVaultFile(`${file}.v1.backup`);
  expect(await store.findToken(token.tenant_id, token.id, NOW)).toMatchObject({ id: token.id });
  await store.close();
});

it('a failing step changes nothing', async () => {
  const { file, token } = await vaultWithToken();
  const failing: Layout = {
    ...LATER,
    migrations: {
      ...LATER.migrations,
      2: () => {
        throw new Error('no');
      },
    },
  };
  await expect(openVaultFile(file, { busyDeadlineMs: 1000, layout: failing })).rejects.toThrow('no');
  const { store } = await openVaultFile(file);
  expect(await store.findToken(token.tenant_id, token.id, NOW)).toMatchObject({ id: token.id });
  await store.close();
});

it('a migration never overwrites a backup, and rejects a format without a path', async () => {
  const { file } = await vaultWithToken();
  writeFileSync(`${file}.v1.backup`, 'mine');
  await expect(openVaultFile(file, { busyDeadlineMs: 1000, layout: LATER })).rejects.toMatchObject({
    code: 'file_exists',
  });
  const unreachable: Layout = { ...LATER, migrations: {} };
  await expect(openVaultFile(file, { busyDeadlineMs: 1000, layout: unreachable })).rejects.toMatchObject({
    code: 'damaged',
  });
  const gap: Layout = { ...LATER, migrations: { 1: () => undefined } };
  const other = await vaultWithToken();
  await expect(openVaultFile(other.file, { busyDeadlineMs: 1000, layout: gap })).rejects.toMatchObject({
    code: 'damaged',
  });
  expect(existsSync(`${other.file}.v1.backup`)).toBe(true);
  await (await openVaultFile(other.file)).store.close();
});

it('two concurrent opens migrate once', async () => {
  const { file } = await vaultWithToken();
  const opened = await Promise.allSettled([
    openVaultFile(file, { busyDeadlineMs: 2000, layout: LATER }),
    openVaultFile(file, { busyDeadlineMs: 2000, layout: LATER }),
  ]);
  const stores = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value.store] : []));
  for (const store of stores) await store.close();
  expect(stores.length).toBeGreaterThanOrEqual(1);
  for (const each of opened) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'file_exists' });
  await (await openVaultFile(file, { busyDeadlineMs: 1000, layout: LATER })).store.close();
});

it('a migration waits for a writer of an older file without a write-ahead log', async () => {
  const { file } = await vaultWithToken();
  const other = await rawConnection(file);
  other.pragma('journal_mode = DELETE');
  other.exec('BEGIN IMMEDIATE');
  setTimeout(() => other.exec('ROLLBACK'), 100);
  await (await openVaultFile(file, { busyDeadlineMs: 5000, layout: LATER })).store.close();
});
