import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { createVaultStore, openVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { parseStoreUrl, type StoreUrl } from '../../src/store/postgres/store-url.ts';
import {
  addTenant,
  addToken,
  entry,
  everything,
  HEADER,
  idsOf,
  indexes,
  NOW,
  tokenRecord,
  tombstoneOf,
} from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { auditTexts, openTestClient } from './write-queue-fixture.ts';

const OPTIONS = { insecure: true };

let database = '';
beforeAll(async () => {
  database = await createDatabase();
});

let schemas = 0;
const newUrl = (): StoreUrl => parseStoreUrl(`${database}?sslmode=disable&schema=open_${schemas++}`);

const create = (url: StoreUrl, prepare = async (_: Store) => {}, grant?: string) =>
  createVaultStore(url, HEADER, prepare, { ...OPTIONS, grant });

async function open(url: StoreUrl): Promise<Store> {
  const { store } = await openVaultStore(url, OPTIONS);
  onTestFinished(() => store.close());
  return store;
}

async function run(url: StoreUrl, text: string) {
  const client = await openTestClient(url);
  return client.run({ text });
}

const schemaCount = async (url: StoreUrl) =>
  (await run(url, `SELECT count(*) FROM pg_namespace WHERE nspname = '${url.schema}'`))[0]?.[0];

/** Ends all connections of the database but those of the caller. */
const END = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

describe('creating a vault', () => {
  it('writes the first rows together with the header', async () => {
    const url = newUrl();
    let tenantId = '';
    await create(url, async (store) => {
      const { id } = await addTenant(store);
      tenantId = id;
      const token = await addToken(store, id, { id: 'kept' });
      const taken = { token: tokenRecord(id, { id: 'kept' }), indexes: indexes('x'), deduplicate: false };
      expect(await store.insertTokens([taken], NOW, entry('never'))).toEqual([{ at: 0, duplicate: undefined }]);
      await addToken(store, id, { id: 'gone' });
      expect(await store.deleteToken(tombstoneOf({ ...token, id: 'gone' }), 1, entry('gone'))).toBe(true);
      await store.appendAudit([entry('added')]);
      expect(await store.replaceClockNote('note', '')).toBe(true);
      // Nobody sees the vault yet.
      await expect(openVaultStore(url, OPTIONS)).rejects.toMatchObject({ code: 'store_missing' });
    });
    const store = await open(url);
    const { mac, ...header } = HEADER;
    expect(await store.header()).toMatchObject(header);
    expect(Buffer.from((await store.header()).mac).equals(mac)).toBe(true);
    expect(await idsOf(store, everything(tenantId))).toEqual(['kept']);
    expect([await store.clockNote(), await store.claimSweep(NOW + 1, 10), await store.inspect()]).toEqual([
      'note',
      false,
      [],
    ]);
    const client = await openTestClient(url);
    expect(await auditTexts(client.run, ['any', 'gone', 'added'])).toEqual(['any', 'any', 'any', 'gone', 'added']);
  });

  it('leaves nothing when it fails', async () => {
    const url = newUrl();
    const failing = create(url, async (store) => {
      await addTenant(store);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await schemaCount(url)).toBe(0);
    await expect(create(url, undefined, 'nobody "here"')).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('has no role nobody "here"'),
    });
    expect(await schemaCount(url)).toBe(0);
  });

  it('never changes a vault or another table', async () => {
    const url = newUrl();
    await create(url);
    await expect(create(url)).rejects.toMatchObject({ code: 'conflict' });
    const other = newUrl();
    await run(other, `CREATE SCHEMA ${other.schema}; CREATE TABLE ${other.schema}.token (a int)`);
    await expect(create(other)).rejects.toMatchObject({ code: 'conflict' });
    expect(await run(other, `SELECT a FROM ${other.schema}.token`)).toEqual([]);
    await run(other, `DROP TABLE ${other.schema}.token`);
    await create(other);
    expect(await (await open(other)).listTenantIds()).toEqual([]);
    const twice = newUrl();
    const codes = await Promise.all([create(twice), create(twice)].map((each) => each.catch(({ code }) => code)));
    expect(codes.toSorted()).toEqual(['conflict', undefined]);
  });

  it('lets a role serve the vault, but not change its audit', async () => {
    const url = newUrl();
    const role = `Server of "${url.schema}"`;
    const name = `"${role.replaceAll('"', '""')}"`;
    await run(url, `CREATE ROLE ${name} LOGIN`);
    await create(url, undefined, role);
    const own = { ...url, user: role };
    const store = await open(own);
    const { id } = await addTenant(store);
    const token = await addToken(store, id);
    expect(await store.deleteToken(tombstoneOf(token), 1, entry('gone'))).toBe(true);
    expect(await store.deleteTenant(id, entry('gone'))).toBe(true);
    for (const change of ['UPDATE', 'DELETE FROM']) {
      const text = `${change} ${url.schema}.audit ${change === 'UPDATE' ? 'SET at = 0' : ''}`;
      await expect(run(own, text)).rejects.toMatchObject({ code: '42501' });
    }
  });
});

describe('opening a vault', () => {
  it('finds no vault', async () => {
    await expect(openVaultStore(newUrl(), OPTIONS)).rejects.toMatchObject({
      code: 'store_missing',
      hint: expect.stringContaining('vault init --store'),
    });
    const url = newUrl();
    await create(url);
    await run(url, `DELETE FROM ${url.schema}.header`);
    await expect(openVaultStore(url, OPTIONS)).rejects.toMatchObject({ code: 'store_missing' });
  });

  it.each([
    ['format = -1', 'store_missing', 'was moved away'],
    ['format = 0', 'damaged', 'no valid format number'],
    ['format = 7', 'newer_format', 'newer format'],
  ])('refuses %s with %s', async (format, code, message) => {
    const url = newUrl();
    await create(url);
    await run(url, `UPDATE ${url.schema}.format SET ${format}`);
    await expect(openVaultStore(url, OPTIONS)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it('refuses a role without access', async () => {
    const url = newUrl();
    await create(url);
    const role = `stranger_${url.schema}`;
    await run(url, `CREATE ROLE ${role} LOGIN`);
    await expect(openVaultStore({ ...url, user: role }, OPTIONS)).rejects.toMatchObject({
      code: 'store_refused',
      message: expect.stringContaining('42501'),
      hint: expect.stringContaining('role that owns the tables'),
    });
  });

  it('reads the time of the database', async () => {
    const url = newUrl();
    await create(url);
    const { readClock, store } = await openVaultStore(url, OPTIONS);
    expect(Math.abs((await readClock()) - Date.now())).toBeLessThan(1000);
    await store.close();
    await expect(readClock()).rejects.toMatchObject({ code: 'vault_stopping' });
  });
});

describe('an open store', () => {
  it('reports another vault, also to writers that connect again', async () => {
    const url = newUrl();
    await create(url);
    const store = await open(url);
    const { id } = await addTenant(store);
    await store.ping();
    await run(url, `UPDATE ${url.schema}.header SET vault_id = 'other'`);
    await expect(store.ping()).rejects.toMatchObject({ code: 'vault_moved' });
    await run(url, END);
    const moved = { code: 'vault_moved', retryAfter: 1 };
    // If the whole transaction was sent to the connection that ends, nobody can read its outcome.
    const unsettled = { code: expect.stringMatching(/^(write_unsettled|vault_moved)$/) };
    await expect(addToken(store, id)).rejects.toMatchObject(unsettled);
    await expect(addToken(store, id)).rejects.toMatchObject(moved);
    await expect(store.findTenant(id)).rejects.toMatchObject(moved);
    await run(url, `UPDATE ${url.schema}.header SET vault_id = 'v'`);
    await store.ping();
    await addToken(store, id);
  });
});
