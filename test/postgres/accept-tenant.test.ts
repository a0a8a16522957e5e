import { expect, it } from 'vitest';
import { callVault } from '../unit/vault-admin-fixture.ts';
import { between, serve, servedStore } from './served-store.ts';

const [OK, REFUSED] = [{ status: 200 }, { status: 500 }];

/** Puts back the older row of an application whose key was regenerated, after a prune of the entry. */
async function closedTenant() {
  const vault = await servedStore();
  const { daemon, management, query } = vault;
  const other = await daemon.createTenant('other');
  const body = { name: 'b', type: 'private', permissions: ['token:read'] };
  const { id, key } = (await callVault(daemon, management, 'createApplication', { body })).body as Record<
    string,
    string
  >;
  const tables = [
    ['application', 'id'],
    ['application_key', 'application_id'],
  ] as const;
  for (const [table] of tables) await query(`CREATE TEMPORARY TABLE kept_${table} AS SELECT * FROM vault.${table}`);
  await callVault(daemon, management, 'regenerateApplicationKey', { id: id ?? '' });
  await vault.prune('old', await between());
  // The daemon that runs follows the log from its new base on, and knows each record.
  expect(await callVault(daemon, management, 'getTenant')).toMatchObject(OK);
  for (const [table, column] of tables) {
    await query(`DELETE FROM vault.${table} WHERE ${column} = '${id}'`);
    await query(
      `INSERT INTO vault.${table} OVERRIDING SYSTEM VALUE SELECT * FROM kept_${table} WHERE ${column} = '${id}'`,
    );
  }
  return {
    ...vault,
    closed: (await daemon.listTenants()).tenants[0]?.id ?? '',
    other: other.application.key ?? '',
    old: key ?? '',
  };
}

it('a closed tenant is named, the others are served, and an acceptance opens it in each daemon', async () => {
  const vault = await closedTenant();
  const { daemon: running, at, apiKey, old, other, closed } = vault;
  const read = (one = running, key = apiKey) => callVault(one, key, 'listTokens');
  const started = await serve(at);
  await started.ready();
  expect(await read(started)).toMatchObject(REFUSED);
  // The running daemon knows which record was put back.
  expect(await read(running)).toMatchObject(OK);
  expect(await read(running, old)).toMatchObject(REFUSED);
  const says = expect.stringContaining(`\`vault tenant accept --tenant ${closed}\``);
  expect(await started.notices()).toEqual([says]);
  for (const one of [running, started]) expect(await callVault(one, other, 'getTenant')).toMatchObject(OK);
  expect(await vault.doctor()).toMatchObject({ ok: false, notices: expect.arrayContaining([says]) });

  await vault.withAdmin(async (admin) => {
    const { findings, accept } = await admin.compareTenant(closed);
    expect(findings).toMatchObject([{ table: 'tenant', id: closed }]);
    // Writes of other processes go on between the comparison and the entry.
    const changes = Promise.all(['one-1', 'one-2', 'two-1'].map((id) => vault.change(running, id)));
    await accept();
    expect(await changes).toEqual([200, 200, 200]);
  });
  for (const one of [running, started, await serve(at)]) {
    for (const key of [apiKey, old]) expect(await read(one, key)).toMatchObject(OK);
    await one.ready();
    expect(await one.notices()).toEqual([]);
  }
  await vault.expectSound();
  expect(
    await callVault(running, vault.management, 'listLogs', { query: [['operation', 'acceptTenant']] }),
  ).toMatchObject({
    body: { data: [{ entity_type: 'tenant', entity_id: closed }] },
  });
});
