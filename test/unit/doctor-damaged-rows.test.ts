import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { openFileVault } from '../../src/vault/vault.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { CREDENTIAL, doctor, fileVault, withAdmin } from './vault-admin-fixture.ts';

it('doctor ends and reports a finding when an index names another id than its row', async () => {
  const { file } = await fileVault(5);
  const sound = readFileSync(file);
  let places = 0;
  for (let at = sound.indexOf('token-2'); at !== -1; at = sound.indexOf('token-2', at + 1)) {
    const altered = Buffer.from(sound);
    altered[at] = (altered[at] ?? 0) ^ 1;
    writeFileSync(file, altered);
    const { ok } = await doctor(file);
    expect(ok).toBe(false);
    places += 1;
  }
  // The id is in at least three places: the row, the index by id and the index of the newest tokens.
  expect(places).toBeGreaterThanOrEqual(3);
});

/** Puts a value into a column that its declaration excludes, like a flipped bit in the header of a row. */
async function putForeign(file: string, table: string, change: string): Promise<void> {
  await tamperFile(file, (connection) => {
    const loosen = (text: string) =>
      text.replaceAll(/ STRICT| NOT NULL| CHECK \(set_number[^)]+\)|(?<= )(TEXT|BLOB)\b/g, '');
    const rewrite = (sql: string) => {
      connection.prepare<[string, string]>('UPDATE sqlite_schema SET sql = ? WHERE name = ?').run(sql, table);
      connection.pragma('writable_schema = RESET');
      connection.pragma('writable_schema = ON');
    };
    connection.unsafeMode(true);
    connection.pragma('foreign_keys = OFF');
    connection.pragma('writable_schema = ON');
    const declared = connection.prepare<[string], string>('SELECT sql FROM sqlite_schema WHERE name = ?').pluck();
    const sql = declared.get(table) ?? '';
    rewrite(loosen(sql));
    connection.exec(change);
    rewrite(sql);
  });
}

const FOREIGN = [
  ['token', 'id', '1'],
  ['token', 'created_at', "'x'"],
  ['token', 'set_number', "'x'"],
  ['token', 'blinds', '1'],
  ['token', 'clear', 'NULL'],
  ['token', 'presented', '1.5'],
  ['token', 'full', "'x'"],
  ['application', 'details', '1'],
  ['application', 'key_version', "'x'"],
  ['application_key', 'hash', 'NULL'],
  ['application_key', 'seal', '1'],
  ['tenant', 'details', 'NULL'],
  ['audit', 'at', 'NULL'],
  ['audit', 'sealed', 'NULL'],
  ['audit', 'link', '1'],
] as const;

it.each(FOREIGN)(
  'doctor reports a value of another type in %s.%s, and reads fail only with problems',
  async (table, column, value) => {
    const { file, apiKey, management } = await fileVault(3);
    const last = `(SELECT rowid FROM ${table} ORDER BY rowid DESC LIMIT 1)`;
    await putForeign(file, table, `UPDATE ${table} SET ${column} = ${value} WHERE rowid = ${last}`);
    expect((await doctor(file)).ok).toBe(false);
    const unexpected: unknown[] = [];
    const reportError = (error: unknown) => {
      if (!(error instanceof Problem)) unexpected.push(error);
    };
    const vault = await openFileVault({ file, credential: CREDENTIAL, reportError });
    try {
      const list = { params: {}, query: [] } as const;
      await vault.dispatch({ operation: 'listTokens', apiKey, ...list });
      await vault.dispatch({ operation: 'listApplications', apiKey: management, ...list });
      await vault.dispatch({ operation: 'getTenant', apiKey: management, ...list });
    } finally {
      await vault.close().catch(reportError);
    }
    expect(unexpected).toEqual([]);
  },
);

it('an audit with a single row before its first place accepts no entry', async () => {
  const { file, apiKey } = await fileVault(1);
  await putForeign(file, 'audit', "DELETE FROM audit; INSERT INTO audit VALUES (0, 0, x'00', NULL)");
  expect((await doctor(file)).ok).toBe(false);
  const vault = await openFileVault({ file, credential: CREDENTIAL });
  const body = {
    operation: 'createToken',
    apiKey,
    bodyText: '{"type":"token","data":1}',
    params: {},
    query: [],
  } as const;
  const { bodyText } = await vault.dispatch({ ...body, mediaType: 'application/json' });
  expect(bodyText).toContain('integrity_failure');
  await vault.close().catch(() => undefined);
});

it.each([
  ['counter', 'at'],
  ['tenant_key', 'created_at'],
] as const)('an invalid time in %s.%s is an integrity failure for its readers', async (table, column) => {
  const { file, management } = await fileVault(1);
  // A valid number, but beyond the range of a Date.
  await tamperFile(file, (connection) => connection.exec(`UPDATE ${table} SET ${column} = 9000000000000000`));
  expect((await doctor(file)).ok).toBe(false);
  const reported: unknown[] = [];
  await withAdmin(file, (admin) => admin.status().catch((error: unknown) => reported.push(error)));
  try {
    const vault = await openFileVault({ file, credential: CREDENTIAL, reportError: (error) => reported.push(error) });
    await vault.dispatch({ operation: 'getUsageReport', apiKey: management, params: {}, query: [] });
    await vault.createTenant('another').catch((error: unknown) => reported.push(error));
    await vault.close();
  } catch (error) {
    reported.push(error);
  }
  expect(reported).not.toEqual([]);
  for (const error of reported) expect(error).toMatchObject({ code: 'integrity_failure' });
});
