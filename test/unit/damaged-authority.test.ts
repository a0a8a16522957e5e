import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';
import { alterUntyped, tamperFile } from '../checks/tamper-file.ts';
import { callVault, doctor, fileVault, withVault } from './vault-admin-fixture.ts';

// Anyone with the file can write anything into a column. A damaged row of one tenant must not end the calls of another.

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
}

const TABLES = ['tenant', 'tenant_key', 'application', 'application_key'];
/** Values of each type that a vault never writes. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  BLOB: ["x''", "x'00'", 'zeroblob(16)', 'zeroblob(40000)'],
  INTEGER: ['-1', '0', '4611686018427387904', '-9223372036854775808'],
  TEXT: ["''", "'x'"],
};

function columnsOf(connection: Connection): readonly Column[] {
  return TABLES.flatMap((table) => {
    const columns = connection.prepare<[], { name: string; type: string }>(`PRAGMA table_info(${table})`).all();
    return columns.map(({ name, type }) => ({ table, name, type }));
  });
}

it('no value in a column of one tenant fails the calls of another', { timeout: 60_000 }, async () => {
  const vault = await fileVault(1);
  const other = await withVault(vault.file, (one) => one.createTenant('other'));
  const key = other.application.key ?? '';
  const first = Buffer.from(vault.tenantId.replaceAll('-', ''), 'hex');
  let columns: readonly Column[] = [];
  await tamperFile(vault.file, (connection) => {
    columns = columnsOf(connection);
  });
  expect(columns.length).toBeGreaterThan(30);
  const sound = readFileSync(vault.file);
  const failed: string[] = [];
  let edits = 0;
  for (const { table, name, type } of columns) {
    for (const value of VALUES[type] ?? []) {
      await tamperFile(vault.file, (connection) => {
        connection.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON');
        const number = connection.prepare('SELECT tenant FROM tenant WHERE id = ?').pluck().get(first);
        const edit = `UPDATE OR IGNORE ${table} SET ${name} = ${value} WHERE tenant = ?`;
        edits += connection.prepare(edit).run(number).changes;
      });
      const outcome = await withVault(vault.file, async (one) => {
        const { status } = await callVault(one, key, 'getTenant');
        const listed = (await one.listTenants()).tenants.some(({ id }) => id === other.tenant.id);
        return `${status}, ${listed ? 'listed' : 'not listed'}`;
      }).catch(String);
      if (outcome !== '200, listed') failed.push(`${table}.${name} = ${value}: ${outcome}`);
      writeFileSync(vault.file, sound);
    }
  }
  expect(edits).toBeGreaterThan(80);
  expect(failed).toEqual([]);
});

it.each([
  ['UPDATE tenant SET id = NULL WHERE tenant = 1'],
  ["UPDATE tenant SET id = '0123456789abcdef' WHERE tenant = 1"],
  ["UPDATE tenant SET revision = 'x' WHERE tenant = 1"],
  ["UPDATE application SET id = 'ääääääääääääääää' WHERE application = 1"],
  ['UPDATE application SET id = NULL WHERE application = 1'],
  ['UPDATE application SET revision = 1.5 WHERE application = 1'],
  ["UPDATE application_key SET id = '0123456789abcdef' WHERE application_key = 1"],
  ['UPDATE application_key SET revision = NULL WHERE application_key = 1'],
])('a value of another type does not end the calls of another tenant: %s', async (edit) => {
  const vault = await fileVault(1);
  const other = await withVault(vault.file, (one) => one.createTenant('other'));
  await alterUntyped(vault.file, edit);
  await withVault(vault.file, async (one) => {
    expect((await callVault(one, other.application.key ?? '', 'getTenant')).status).toBe(200);
    expect((await one.listTenants()).tenants.map(({ id }) => id)).toContain(other.tenant.id);
  });
  expect((await doctor(vault.file)).ok).toBe(false);
});
