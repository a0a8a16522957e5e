import { readFileSync, statSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import {
  addTenant,
  addToken,
  applicationRecord,
  ENTRY,
  everything,
  FIRST_PAGE,
  indexes,
  MONTH,
  NOW,
  REMOVAL,
  sealed,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { openStore, rawConnection, storeWithConnection, temporaryVault } from './store-sqlite-fixture.ts';

/** Returns the longest time in milliseconds for which `work` blocked the event loop. */
async function longestLag(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 2);
    last = now;
  }, 2);
  await work();
  clearInterval(timer);
  return longest;
}

describe('two processes on one file', () => {
  it("see each other's changes at once", async () => {
    const file = await temporaryVault();
    const [a, b] = [await openStore(file), await openStore(file)];
    const { id, tenant, application, key } = await addTenant(a);
    expect(await b.findAuthority(key.hash, NOW)).toBeDefined();
    await a.deleteApplicationKey(id, application.id, key.id, REMOVAL);
    expect(await b.findAuthority(key.hash, NOW)).toBeUndefined();

    const token = await addToken(a, id);
    expect(await b.findToken(id, token.id, NOW)).toEqual(await a.findToken(id, token.id, NOW));
    expect(await b.replaceToken({ ...token, revision: 2 }, indexes('x'), { revision: 1, now: NOW }, ENTRY)).toBe(true);
    expect(await a.replaceToken({ ...token, revision: 2 }, indexes('x'), { revision: 1, now: NOW }, ENTRY)).toBe(false);
    expect(await b.replaceTenant({ ...tenant, revision: 2 }, 1, ENTRY)).toBe(true);
    await b.deleteTenant(id, ENTRY);
    expect(await a.findToken(id, token.id, NOW)).toBeUndefined();
    await expect(a.insertApplication(applicationRecord(id), ENTRY)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('read on the snapshot in which the audit was followed, until the turn ends', async () => {
    const file = await temporaryVault();
    const { store, connection } = await storeWithConnection(file, 1_000);
    const raw = await rawConnection(file);
    const { id } = await addTenant(store);
    const token = await addToken(store, id);
    const rename = (to: string, from: string) => raw.prepare('UPDATE token SET id = ? WHERE id = ?').run(to, from);

    await store.followAudit(1, 1);
    expect(connection.inTransaction).toBe(true);
    rename('elsewhere', token.id);
    expect(await store.findPresentedToken(id, token.id, NOW)).toMatchObject({ id: token.id });
    expect(await store.findTokens({ tenant_id: id, all: [] }, FIRST_PAGE, NOW)).toMatchObject({
      records: [{ id: token.id }],
    });

    await new Promise((resolve) => setImmediate(resolve));
    expect(connection.inTransaction).toBe(false);
    expect(await store.findPresentedToken(id, token.id, NOW)).toBeUndefined();
    rename(token.id, 'elsewhere');

    // Neither a write nor a truncation of the log waits for the snapshot or fails because of it.
    await store.followAudit(1, 1);
    const second = addToken(store, id);
    expect(await store.findPresentedToken(id, token.id, NOW)).toBeDefined();
    await second;
    await store.followAudit(1, 1);
    expect(await store.deleteTenant(id, ENTRY)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBe(0);
  });

  it('write at the same time without loss', async () => {
    const file = await temporaryVault();
    const stores = [await openStore(file), await openStore(file), await openStore(file)];
    const [first] = stores;
    if (first === undefined) throw new Error('unreachable');
    const { id } = await addTenant(first);
    const writers = stores.map(async (store, writer) => {
      for (let n = 0; n < 30; n += 1) await addToken(store, id, { id: `token ${writer} ${n}` });
    });
    await Promise.all(writers);
    const { total } = await first.findTokens(everything(id), FIRST_PAGE, NOW);
    const { types, active } = await first.usage(id, MONTH, NOW);
    expect([total, types[0]?.count, active]).toEqual([90, 90, 90]);
  });

  it('wait for a lock without blocking the event loop, read meanwhile, and fail after the deadline', async () => {
    const file = await temporaryVault();
    const { store } = await storeWithConnection(file, 500);
    const { id } = await addTenant(store);
    const token = await addToken(store, id);
    const other = await rawConnection(file);

    other.exec('BEGIN IMMEDIATE');
    const lag = await longestLag(async () => {
      const waiting = expect(addToken(store, id)).rejects.toMatchObject({ code: 'vault_busy', retryAfter: 1 });
      expect((await store.findToken(id, token.id, NOW))?.id).toBe(token.id);
      await store.ping();
      await waiting;
    });
    // A wait inside SQLite would block the event loop for all 500 ms.
    expect(lag).toBeLessThan(300);

    const patient = addToken(store, id, { id: 'patient' });
    await sleep(100);
    other.exec('COMMIT');
    await expect(patient).resolves.toBeDefined();
    expect((await store.findTokens(everything(id), FIRST_PAGE, NOW)).total).toBe(2);
  });
});

describe('the path', () => {
  it('is watched: a moved or replaced file rejects calls', async () => {
    const file = await temporaryVault();
    const store = await openStore(file);
    const { id } = await addTenant(store);
    const moved = { code: 'vault_moved' };
    await store.ping();

    await rename(file, `${file}.away`);
    await expect(store.ping()).rejects.toMatchObject(moved);
    await expect(addToken(store, id)).rejects.toMatchObject(moved);
    await sleep(120);
    await expect(store.findTenant(id)).rejects.toMatchObject(moved);
    await expect(store.findTokens(everything(id), FIRST_PAGE, NOW)).rejects.toMatchObject(moved);

    await rename(`${file}.away`, file);
    await store.ping();
    await addToken(store, id);
  });

  it('is watched for its log: commits to an unlinked log would be lost', async () => {
    const file = await temporaryVault();
    const store = await openStore(file);
    const { id } = await addTenant(store);
    await rename(`${file}-wal`, `${file}.away`);
    await expect(addToken(store, id)).rejects.toMatchObject({ code: 'vault_moved' });
    await writeFile(`${file}-wal`, '');
    await expect(store.ping()).rejects.toMatchObject({ code: 'vault_moved' });
    await rename(`${file}.away`, `${file}-wal`);
    await addToken(store, id);
  });
});

describe('the file', () => {
  it('keeps nothing of deleted or replaced tokens, and the log only briefly', async () => {
    const file = await temporaryVault();
    const { store } = await openVaultFile(file);
    const { id } = await addTenant(store);
    const tokens = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        addToken(store, id, { full: sealed(`old ${n}`, 200) }, ['shared', `own ${n}`]),
      ),
    );
    const gone = tokens.filter((_, n) => n % 3 === 0);
    const replaced = tokens.filter((_, n) => n % 3 === 1);
    await Promise.all(gone.map((token) => store.deleteToken(tombstoneOf(token), 1, ENTRY)));
    await Promise.all(
      replaced.map((token) =>
        store.replaceToken(
          { ...token, revision: 2, full: sealed(`new ${token.id}`, 240) },
          indexes('new'),
          { revision: 1, now: NOW },
          ENTRY,
        ),
      ),
    );
    for (let waited = 0; statSync(`${file}-wal`).size > 0 && waited < 50; waited += 1) await sleep(100);
    expect(statSync(`${file}-wal`).size).toBe(0);
    await store.close();
    const bytes = readFileSync(file);
    for (const token of [...gone, ...replaced]) expect(bytes.indexOf(token.full)).toBe(-1);
    for (const token of gone) {
      expect(bytes.indexOf(token.presented)).toBe(-1);
      expect(bytes.indexOf(indexes(token.id).fingerprint)).toBe(-1);
    }
    for (const token of tokens.filter((_, n) => n % 3 === 2)) expect(bytes.indexOf(token.full)).not.toBe(-1);
  });

  it('has an empty log when the deletion of a tenant returns', async () => {
    const file = await temporaryVault();
    const store = await openStore(file);
    const { id, keys } = await addTenant(store);
    const token = await addToken(store, id);
    await store.deleteTenant(id, ENTRY);
    expect(statSync(`${file}-wal`).size).toBe(0);
    await store.close();
    const bytes = readFileSync(file);
    for (const gone of [token.full, ...keys.map((key) => key.wrapped)]) expect(bytes.indexOf(gone)).toBe(-1);
  });
});
