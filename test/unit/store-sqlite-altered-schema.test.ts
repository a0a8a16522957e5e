import { expect, it } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import type { FileStore } from '../../src/store/sqlite/sqlite-store.ts';
import { addTenant, addToken, ENTRY, indexes, NOW, tokenRecord } from '../conformance/store-fixtures.ts';
import { openStore, openThreadedStore, rawConnection, temporaryVault } from './store-sqlite-fixture.ts';

/** What another process may do to the file of a running vault. Each would run in the vault, or show it other rows. */
const ALTERATIONS = {
  'a trigger that falsifies': 'CREATE TRIGGER t AFTER INSERT ON token BEGIN UPDATE token SET expires_at = NULL; END',
  'a trigger that copies':
    'CREATE TABLE copy (full BLOB); CREATE TRIGGER t AFTER INSERT ON token BEGIN INSERT INTO copy VALUES (new.full); END',
  'a trigger with the name of SQLite’s own table': `PRAGMA writable_schema = ON; INSERT INTO sqlite_schema
    VALUES ('trigger', 'sqlite_sequence', 'token', 0,
      'CREATE TRIGGER sqlite_sequence AFTER INSERT ON token BEGIN UPDATE token SET expires_at = NULL; END');
    PRAGMA schema_version = 9999`,
  'a view in place of a table':
    'ALTER TABLE tombstone RENAME TO moved; CREATE VIEW tombstone AS SELECT * FROM moved WHERE 0',
  'another index': 'DROP INDEX token_expiry; CREATE INDEX token_expiry ON token (expires_at)',
} as const;

const REFUSED = { code: 'integrity_failure', cause: { code: 'SCHEMA_ALTERED' } };

async function insertToken(store: Pick<FileStore, 'insertToken'>, tenantId: string) {
  const token = tokenRecord(tenantId, { expires_at: NOW + 1000 });
  await store.insertToken(token, indexes(token.id), { deduplicate: false, now: NOW }, ENTRY);
  return token;
}

it.each(Object.entries(ALTERATIONS))('refuses every call after %s', async (_name, sql) => {
  const file = await temporaryVault();
  const store = await openStore(file);
  const { id } = await addTenant(store);
  const token = await insertToken(store, id);
  const other = await rawConnection(file);
  other.unsafeMode();
  other.exec(sql);
  await expect(insertToken(store, id)).rejects.toMatchObject(REFUSED);
  await expect(store.findToken(id, token.id, NOW)).rejects.toMatchObject(REFUSED);
  await expect(store.followAudit(1, 1)).rejects.toMatchObject(REFUSED);
  await expect(store.ping()).rejects.toMatchObject(REFUSED);
  expect(store.readNow?.(() => true)).toBeUndefined();
  expect(other.prepare('SELECT count(*), max(expires_at) FROM token').raw().get()).toEqual([1, NOW + 1000]);
  await expect(openVaultFile(file)).rejects.toMatchObject({ code: 'damaged' });
});

it('refuses calls in the writer thread', async () => {
  const file = await temporaryVault();
  const { store } = await openThreadedStore(file);
  const { id } = await addTenant(store);
  await store.startThread();
  await insertToken(store, id);
  const other = await rawConnection(file);
  other.exec(ALTERATIONS['a trigger that copies']);
  await expect(insertToken(store, id)).rejects.toMatchObject(REFUSED);
  expect(other.prepare('SELECT count(*) FROM copy').pluck().get()).toBe(0);
  await store.close();
});

it('refuses calls until the file is opened again: SQLite may keep a trigger that the file no longer has', async () => {
  const file = await temporaryVault();
  const store = await openStore(file);
  const { id } = await addTenant(store);
  const other = await rawConnection(file);
  other.exec(ALTERATIONS['a trigger that falsifies']);
  await expect(insertToken(store, id)).rejects.toMatchObject(REFUSED);
  other.unsafeMode();
  other.exec("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger'");
  await expect(insertToken(store, id)).rejects.toMatchObject(REFUSED);
  const { expires_at } = await insertToken(await openStore(file), id);
  expect(other.prepare('SELECT expires_at FROM token').pluck().all()).toEqual([expires_at]);
});

it('goes on when another process packs the file, which changes only the number of its schema', async () => {
  const file = await temporaryVault();
  const store = await openStore(file);
  const { id } = await addTenant(store);
  const token = await addToken(store, id);
  const other = await rawConnection(file);
  const version = other.pragma('schema_version', { simple: true });
  other.exec('VACUUM');
  expect(other.pragma('schema_version', { simple: true })).not.toBe(version);
  expect(await store.findToken(id, token.id, NOW)).toMatchObject({ id: token.id });
  await insertToken(store, id);
});
