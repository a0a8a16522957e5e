import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openFileVault } from '../../src/vault/vault.ts';
import { alterUntyped, tamperFile } from '../checks/tamper-file.ts';
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

it('an audit with a single row before its first place accepts no entry', async () => {
  const { file, apiKey } = await fileVault(1);
  await alterUntyped(file, "DELETE FROM audit; INSERT INTO audit VALUES (0, 0, x'00', NULL)");
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
