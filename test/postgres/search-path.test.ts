import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectStore } from '../../src/store/postgres/connect.ts';
import { createVaultStore } from '../../src/store/postgres/open-vault-store.ts';
import { readClock } from '../../src/store/postgres/sql-client.ts';
import { parseStoreUrl, type StoreUrl } from '../../src/store/postgres/store-url.ts';
import { HEADER } from '../conformance/store-fixtures.ts';
import { createDatabase } from './create-database.ts';
import { openClient } from './open-client.ts';
import { type Options, startPooler } from './pooler.ts';

const PATH = { text: "SELECT current_setting('search_path')" };

let database = '';
let name = '';
beforeAll(async () => {
  database = await createDatabase();
  name = new URL(database).pathname.slice(1);
});

let roles = 0;
async function createRole(options = ''): Promise<string> {
  const role = `path_${name}_${roles++}`;
  const client = await openClient(database);
  await client.run({ text: `CREATE ROLE ${role} LOGIN ${options}` });
  await client.run({ text: `GRANT CREATE ON DATABASE ${name} TO ${role}` });
  return role;
}

const urlOf = (role: string, port = Number(new URL(database).port)): StoreUrl =>
  parseStoreUrl(`postgres://${role}@127.0.0.1:${port}/${name}?sslmode=disable&schema=of_${role}`);

/** Starts a pooler for the rest of the test. */
async function pooled(role: string, options: Options): Promise<StoreUrl> {
  const pooler = await startPooler(Number(new URL(database).port), options);
  onTestFinished(() => pooler.close());
  return urlOf(role, pooler.port);
}

/** Opens a connection for the rest of the test. */
async function connect(url: StoreUrl) {
  const client = await connectStore(url, { timeout: 5000 });
  onTestFinished(() => client.close());
  return client;
}

const commandFor = (role: string) => `ALTER ROLE ${role} IN DATABASE ${name} SET search_path TO pg_catalog, pg_temp`;
const refusal = (role: string) => ({ code: 'store_refused', hint: expect.stringContaining(commandFor(role)) });
const create = (url: StoreUrl, grant?: string) => createVaultStore(url, HEADER, async () => {}, { grant });

describe('the search_path', () => {
  it('comes with the connection, and stays', async () => {
    const { run } = await connect(urlOf('postgres'));
    await run({ text: 'DISCARD ALL' });
    expect(await run(PATH)).toEqual([['pg_catalog,pg_temp']]);
  });

  it('finds a temporary table last', async () => {
    const { run } = await connect(urlOf('postgres'));
    await run({ text: 'CREATE TEMPORARY TABLE pg_class (a integer)' });
    expect(await run({ text: 'SELECT count(*) > 0 FROM pg_class' })).toEqual([[true]]);
  });

  it('is verified by each reading of the clock', async () => {
    const client = await connect(urlOf('postgres'));
    await readClock(client);
    await client.run({ text: 'SET search_path = public' });
    await expect(readClock(client)).rejects.toMatchObject(refusal('postgres'));
  });

  it('is refused as the name of one schema, which another role could create', async () => {
    const client = await connect(urlOf('postgres'));
    for (const path of ["'pg_catalog,pg_temp'", '"pg_catalog, pg_temp"', '"pg_catalog ", pg_temp']) {
      await client.run({ text: `SET search_path = ${path}` });
      await expect(readClock(client)).rejects.toMatchObject(refusal('postgres'));
    }
    await client.run({ text: 'SET search_path = "pg_catalog", "pg_temp"' });
    await readClock(client);
  });

  it.each(['drop', 'refuse'] as const)('is required of a role behind a pooler that would %s it', async (options) => {
    const role = await createRole();
    const url = await pooled(role, options);
    await expect(connect(url)).rejects.toMatchObject(refusal(role));
    // The role itself may run the command of the hint.
    await (await connect(urlOf(role))).run({ text: commandFor(role) });
    expect(await (await connect(url)).run(PATH)).toEqual([['pg_catalog, pg_temp']]);
  });
});

describe('vault init', () => {
  it('sets the search_path of the owner and of the role that it grants access', async () => {
    const [owner, daemon] = [await createRole('SUPERUSER'), await createRole()];
    await create(urlOf(owner), daemon);
    for (const role of [owner, daemon]) {
      const { run } = await connect(await pooled(role, 'drop'));
      expect(await run(PATH)).toEqual([['pg_catalog, pg_temp']]);
    }
  });

  it('grants access also when the owner may not change the role', async () => {
    const [owner, daemon] = [await createRole(), await createRole()];
    await create(urlOf(owner), daemon);
    await connect(await pooled(owner, 'drop'));
    await expect(connect(await pooled(daemon, 'drop'))).rejects.toMatchObject(refusal(daemon));
    const { run } = await connect(urlOf(daemon));
    expect(await run({ text: `SELECT count(*) FROM of_${owner}.header` })).toEqual([[1]]);
  });

  it('leaves a role that has other tables in the database', async () => {
    const role = await createRole();
    const { run } = await connect(urlOf(role));
    await run({ text: `CREATE SCHEMA app_${role}; CREATE TABLE app_${role}.users (a integer)` });
    await create(urlOf(role));
    await expect(connect(await pooled(role, 'drop'))).rejects.toMatchObject(refusal(role));
  });
});
