import { expect, it } from 'vitest';
import { directClient } from '../../src/client/direct.ts';
import { createCaller } from '../checks/perform.ts';
import { keepRows, putBack, ROLLBACKS } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { fileVault, withAdmin, withVault } from './vault-admin-fixture.ts';

const check = (file: string) =>
  withVault(file, async (vault) => ({ found: await vault.check(), notices: await vault.notices() }));

/** The expected findings by the names of `ROLLBACKS`. */
const FOUND: Readonly<Record<string, RegExp>> = {
  'a token as it was before a change': /^token token-1 .* an older row was restored$/,
  'a token that was deleted': /^token token-1 .* the row was restored$/,
  'an application as it was before its key was regenerated': /^application .* an older row was restored$/,
  'an API key that was deleted': /^application_key .* the row was restored$/,
  'an application that was deleted': /^application .* the row was restored$/,
  'the tenant as it was before a change': /^tenant .* an older row was restored$/,
  'the state before a token was made': /^token .* was removed outside the vault$/,
};

it.each(Object.entries(FOUND))('the check finds %s, put back', async (name, says) => {
  const { file, ...keys } = await fileVault(3);
  const [act, tables] = ROLLBACKS[name] ?? [];
  const before = await keepRows(file);
  await withVault(
    file,
    (vault) =>
      act?.(
        createCaller(() => directClient(vault)),
        keys,
      ) ?? Promise.reject(),
  );
  await putBack(file, before, tables);
  const { found, notices } = await check(file);
  expect(found).toEqual([expect.stringMatching(says)]);
  expect(notices).toEqual(['the vault has 1 finding: run `vault doctor`']);
});

it('the check finds an older header put back, and no change of it is made', async () => {
  const { file } = await fileVault(0);
  const before = await keepRows(file);
  const add = (byte: number) =>
    withAdmin(file, (admin) =>
      admin.addSlot({ kind: 'key_file', key: new Uint8Array(32).fill(byte) }, { allowWeak: false }),
    );
  await add(9);
  await putBack(file, before, ['header', 'slot']);
  expect((await check(file)).found).toEqual([expect.stringMatching(/^header .* an older row was restored/)]);
  await expect(add(8)).rejects.toMatchObject({ code: 'integrity_failure' });
  expect((await check(file)).found).toEqual([expect.stringMatching(/^header .* an older row was restored/)]);
});

it('the check finds an altered entry of the audit', async () => {
  const { file } = await fileVault(2);
  await tamperFile(file, (connection) => connection.exec('UPDATE audit SET at = at + 1 WHERE sequence = 4'));
  expect((await check(file)).found).toEqual([expect.stringMatching(/^audit 4 was altered/)]);
});
