import { describe, expect, it } from 'vitest';
import { linkOf } from '../../src/core/audit/audit-link.ts';
import { createFollower } from '../../src/core/audit/follower.ts';
import type { AuditEntry } from '../../src/core/audit/ports.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { openFileForKeyHolder } from '../../src/vault/key-holder.ts';
import type { Vault } from '../../src/vault/vault.ts';
import { insertRow, keepRows, putBack } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import {
  bytesOf,
  CREDENTIAL,
  callOnce,
  callVault,
  doctor,
  fileVault,
  newApplication,
  openedVault,
  prune,
  RULE,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

const REFUSED = { status: 500, body: { type: expect.stringMatching(/integrity_failure$/) } };
const [OK, UNKNOWN_KEY] = [{ status: 200 }, { status: 401 }];

const read = (vault: Vault, apiKey: string) => callVault(vault, apiKey, 'getToken', { id: 'token-0' });

const SELECT_ROWS = 'SELECT sequence, at, sealed, link FROM audit WHERE sequence > 0 ORDER BY sequence';

/** Replaces the audit. Links the rows again, each as a commit of its own. */
async function rewriteAudit(file: string, change: (rows: AuditEntry[]) => readonly AuditEntry[]): Promise<void> {
  await tamperFile(file, (connection) => {
    const rows = change(connection.prepare<[], AuditEntry>(SELECT_ROWS).all());
    connection.exec('DELETE FROM audit WHERE sequence > 0');
    let link: Uint8Array = new Uint8Array(16);
    rows.forEach((row, index) => {
      const placed = { ...row, sequence: index + 1 };
      link = linkOf(link, [placed]);
      insertRow(connection, 'audit', { ...placed, link });
    });
  });
}

/** Removes the rows of an application, by the columns with its id. Resolves to a function that puts them back. */
async function hide(file: string, id: string, columns: Readonly<Record<string, string>>): Promise<() => Promise<void>> {
  const kept: (readonly [table: string, row: object])[] = [];
  await tamperFile(file, (connection) => {
    connection.exec('PRAGMA foreign_keys = OFF');
    for (const [table, column] of Object.entries(columns)) {
      const of = `FROM ${table} WHERE ${column} = ?`;
      const rows = connection.prepare<[Buffer], object>(`SELECT * ${of}`).all(bytesOf(id));
      kept.push(...rows.map((row) => [table, row] as const));
      connection.prepare<[Buffer]>(`DELETE ${of}`).run(bytesOf(id));
    }
  });
  return () =>
    tamperFile(file, (connection) => {
      // A later row may have the number of a removed key.
      for (const [table, row] of kept)
        insertRow(connection, table, { ...row, ...(table === 'application_key' && { application_key: null }) });
    });
}

describe('a vault that is open', () => {
  it('uses the changed tenant and its new keys in the next call', async () => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    await read(one, vault.apiKey);
    await callOnce(vault, vault.management, 'updateTenant', { body: { name: 'new' } });
    expect(await callVault(one, vault.management, 'getTenant')).toMatchObject({ body: { name: 'new' } });
    await withAdmin(vault.file, (admin) => admin.rotate({ master: true, indexes: true }));
    expect(await read(one, vault.apiKey)).toMatchObject(OK);
    await callOnce(vault, vault.management, 'deleteTenant');
    expect(await read(one, vault.apiKey)).toMatchObject(UNKNOWN_KEY);
  });

  it('goes on after a prune of all that it knew', async () => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    await read(one, vault.apiKey);
    await prune(vault);
    expect(await read(one, vault.apiKey)).toMatchObject(OK);
    const patch = { id: 'token-0', body: { metadata: { n: '1' } } };
    expect(await callVault(one, vault.apiKey, 'updateToken', patch)).toMatchObject(OK);
    expect(await newApplication(one, vault.management)).toMatchObject({ id: expect.any(String) });
    expect((await doctor(vault.file)).findings).toEqual([]);
  });

  it.each([['regenerateApplicationKey'], ['updateApplication', 'regenerateApplicationKey']] as const)(
    'refuses an API key that was hidden while it was replaced, after %s',
    async (...operations) => {
      const vault = await fileVault(1);
      const one = await openedVault(vault.file);
      const made = await newApplication(one, vault.management);
      const putRowsBack = await hide(vault.file, made.id, { application_key: 'application_id' });
      for (const operation of [...operations, 'updateApplication'] as const) {
        const body = operation === 'updateApplication' ? { name: 'b', rules: [RULE] } : undefined;
        const changed = await callVault(one, vault.management, operation, { id: made.id, ...(body && { body }) });
        expect(changed).toMatchObject(OK);
      }
      await putRowsBack();
      expect(await read(one, made.key)).toMatchObject(REFUSED);
      expect(await read(await openedVault(vault.file), made.key)).toMatchObject(REFUSED);
      const listed = await callVault(one, vault.management, 'listApplicationKeys', { id: made.id });
      expect(listed.body).toHaveLength(1);
      const { findings } = await doctor(vault.file);
      expect(findings).toMatchObject([{ table: 'application_key', what: expect.stringContaining('was replaced') }]);
    },
  );

  it('refuses an expiring application that was hidden while the key that created it was deleted', async () => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    const flag = { can_create_expiring_applications: true };
    const { id } = await newApplication(one, vault.management, { rules: [RULE], ...flag });
    const made: Readonly<Record<'id' | 'key', string>> = (
      await callVault(one, vault.management, 'createApplicationKey', { id })
    ).body;
    const child = await newApplication(one, made.key, { type: 'expiring', permissions: ['token:read'] });
    expect(await read(one, child.key)).toMatchObject(OK);
    const putRowsBack = await hide(vault.file, child.id, { application: 'id', application_key: 'application_id' });
    const params = { id, key_id: made.id };
    await callVault(one, vault.management, 'deleteApplicationKey', { params });
    await putRowsBack();
    expect(await read(one, child.key)).toMatchObject(UNKNOWN_KEY);
    expect(await read(await openedVault(vault.file), child.key)).toMatchObject(UNKNOWN_KEY);
  });

  it('follows a commit of more rows than a read has, also from its start on', async () => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    await read(one, vault.apiKey);
    const { store, audit, close } = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL });
    const event = { action: 'getToken', status: 200, tenant_id: vault.tenantId, entities: ['token-0'] } as const;
    await store.appendAudit(Array.from({ length: 1100 }, () => audit.draft(event)));
    await close();
    // A read adds a row that names the end of the commit, so the opening must be first.
    expect(await read(await openedVault(vault.file), vault.apiKey)).toMatchObject(OK);
    expect(await read(one, vault.apiKey)).toMatchObject(OK);
  });

  it('gives no stamp to records that were read before their tenant changed', async () => {
    const vault = await fileVault(0);
    const { store, keyring, close } = await openFileForKeyHolder({ file: vault.file, credential: CREDENTIAL });
    const follower = createFollower({ store, keyring });
    await follower.follow();
    const { sequence } = follower.known();
    expect(follower.stampOf(vault.tenantId, sequence, [])).toMatchObject({ tenant_id: vault.tenantId });
    await callOnce(vault, vault.management, 'updateTenant', { body: { name: 'new' } });
    await follower.follow();
    expect(() => follower.stampOf(vault.tenantId, sequence, [])).toThrow('write_conflict');
    await close();
  });

  const END = '(SELECT max(sequence) FROM audit)';
  const ALTERED: Readonly<Record<string, string>> = {
    'whose end was cut': `DELETE FROM audit WHERE sequence = ${END}`,
    'whose last row was replaced': `UPDATE audit SET link = randomblob(16) WHERE sequence = ${END}`,
    'that was removed': 'DELETE FROM audit',
  };

  it.each(Object.entries(ALTERED))('refuses every call on an audit %s', async (_what, sql) => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    for (const key of [vault.apiKey, vault.management]) await callVault(one, key, 'listTokens');
    await tamperFile(vault.file, (connection) => connection.exec(sql));
    for (const _ of [1, 2]) expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });

  it('refuses every call after a new row that is not what a process wrote', async () => {
    const vault = await fileVault(1);
    const one = await openedVault(vault.file);
    await newApplication(one, vault.management);
    await read(one, vault.apiKey);
    // An older authority row behind the end, linked as a process links it.
    await rewriteAudit(vault.file, (rows) => [...rows, ...rows.slice(0, 1)]);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });
});

describe('a vault that is opened', () => {
  it.each([
    ['the header and its slots', ['header', 'slot']],
    ['the keys of the tenant', ['tenant_key']],
    ['the tenant', ['tenant']],
  ])('refuses its calls with %s put back', async (_what, restored) => {
    const vault = await fileVault(1);
    const admin = await openVaultAdmin({ file: vault.file, credential: CREDENTIAL });
    const before = await keepRows(vault.file);
    await admin.addSlot({ kind: 'key_file', key: new Uint8Array(32).fill(9) }, { allowWeak: false });
    await callOnce(vault, vault.management, 'updateTenant', { body: { name: 'new' } });
    await admin.rotate({ master: false, indexes: false });
    await admin.close();
    expect(await withVault(vault.file, (one) => read(one, vault.apiKey))).toMatchObject(OK);
    await putBack(vault.file, before, restored);
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });

  it('refuses the tenant when a destroyed key was put back', async () => {
    const vault = await fileVault(1);
    const before = await keepRows(vault.file);
    await withAdmin(vault.file, (admin) => admin.rotate({ master: false, indexes: false }));
    const [row] = before.find(({ table }) => table === 'tenant_key')?.rows ?? [];
    await tamperFile(vault.file, (connection) => insertRow(connection, 'tenant_key', { ...row }));
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });

  it('refuses only the application whose id has another length', async () => {
    const vault = await fileVault(1);
    const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
    await tamperFile(vault.file, (connection) => {
      const key = connection.prepare("UPDATE application SET id = CAST(id || '0' AS BLOB) WHERE hex(id) = ?");
      expect(key.run(made.id.replaceAll('-', '').toUpperCase()).changes).toBe(1);
    });
    const one = await openedVault(vault.file);
    expect(await read(one, made.key)).not.toMatchObject(OK);
    expect(await read(one, vault.apiKey)).toMatchObject(OK);
    const { findings } = await doctor(vault.file);
    expect(findings.filter(({ id }) => id === made.id)).toEqual([
      { table: 'application', id: made.id, what: expect.stringContaining('has no row') },
    ]);
  });

  it('refuses the application whose last entry was removed, with the rows linked again', async () => {
    const vault = await fileVault(1);
    const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
    await rewriteAudit(vault.file, (rows) => rows.slice(0, -1));
    const one = await openedVault(vault.file);
    expect(await read(one, made.key)).toMatchObject(REFUSED);
    expect(await read(one, vault.apiKey)).toMatchObject(OK);
  });

  it.each<readonly [string, (rows: AuditEntry[]) => readonly AuditEntry[]]>([
    ['without any row', () => []],
    ['with an older authority row in the place of a later one', (rows) => rows.with(-1, rows[0] as AuditEntry)],
    ['with an older authority row at the end', (rows) => [...rows, rows[1] as AuditEntry]],
    ['with the last authority row twice', (rows) => [...rows, rows.at(-1) as AuditEntry]],
    ['without an authority row that a later row names', (rows) => rows.filter((_, index) => index !== 2)],
  ])('refuses every call with an audit %s', async (_what, change) => {
    const vault = await fileVault(1);
    await withVault(vault.file, (one) => newApplication(one, vault.management));
    await rewriteAudit(vault.file, change);
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });

  it('refuses every call with an older authority row under the link of a later one, and the records of its time', async () => {
    const vault = await fileVault(1);
    const before = await keepRows(vault.file);
    await withVault(vault.file, async (one) => {
      await newApplication(one, vault.management);
      const create = () => callVault(one, vault.apiKey, 'createToken', { body: { type: 'token', data: 1 } });
      for (const { status } of [await create(), await create()]) expect(status).toBe(201);
    });
    await putBack(vault.file, before, ['application', 'application_key']);
    // Later rows name the link, so that the process computes only the links behind the last one of them.
    await tamperFile(vault.file, (connection) => {
      const rows = connection.prepare<[], AuditEntry>(SELECT_ROWS).all();
      const [older, later] = [rows[2] as AuditEntry, rows.at(-3) as AuditEntry];
      connection.exec(`DELETE FROM audit WHERE sequence = ${later.sequence}`);
      insertRow(connection, 'audit', { ...older, sequence: later.sequence, link: later.link });
    });
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });

  it('after a prune, closes the tenant if no entry names the record that was put back', async () => {
    const vault = await fileVault(1);
    const before = await keepRows(vault.file);
    const made = await withVault(vault.file, (one) => newApplication(one, vault.management));
    await callOnce(vault, vault.management, 'regenerateApplicationKey', { id: made.id });
    await prune(vault);
    expect(await withVault(vault.file, (one) => read(one, vault.apiKey))).toMatchObject(OK);
    await putBack(vault.file, before, ['application', 'application_key']);
    const one = await openedVault(vault.file);
    expect(await read(one, vault.apiKey)).toMatchObject(REFUSED);
  });
});

it('two processes that change applications at the same time keep one digest', async () => {
  const vault = await fileVault(1);
  const vaults = await Promise.all([openedVault(vault.file), openedVault(vault.file), openedVault(vault.file)]);
  const made = await Promise.all(
    Array.from({ length: 30 }, (_, n) => newApplication(vaults[n % 3] as Vault, vault.management)),
  );
  await Promise.all(
    made.slice(10).map(({ id }, n) => {
      const operation = n % 2 === 0 ? 'deleteApplication' : 'regenerateApplicationKey';
      return callVault(vaults[n % 3] as Vault, vault.management, operation, { id });
    }),
  );
  for (const one of vaults) expect(await read(one, made[0]?.key ?? '')).toMatchObject(OK);
  const again = await openedVault(vault.file);
  for (const { key } of made.slice(0, 10)) expect(await read(again, key)).toMatchObject(OK);
  expect((await doctor(vault.file)).findings).toEqual([]);
});
