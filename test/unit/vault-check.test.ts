import { describe, expect, it } from 'vitest';
import { appendForged, FORGED, HONEST } from '../checks/forged-rows.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { archiveIn, CREDENTIAL, doctor, fileVault, prune, withAdmin, withVault } from './vault-admin-fixture.ts';

const check = (file: string) => withVault(file, (vault) => vault.check());

it('the check finds an older header put back, and no change of it is made', async () => {
  const { file } = await fileVault(0);
  const before = await keepRows(file);
  const add = (byte: number) =>
    withAdmin(file, (admin) =>
      admin.addSlot({ kind: 'key_file', key: new Uint8Array(32).fill(byte) }, { allowWeak: false }),
    );
  await add(9);
  await putBack(file, before, ['header', 'slot']);
  expect(await check(file)).toEqual([expect.stringMatching(/^header .* an older row was restored/)]);
  await expect(add(8)).rejects.toMatchObject({ code: 'integrity_failure' });
  expect(await check(file)).toEqual([expect.stringMatching(/^header .* an older row was restored/)]);
});

it('the check finds an altered entry of the audit', async () => {
  const { file } = await fileVault(2);
  await tamperFile(file, (connection) => connection.exec('UPDATE audit SET at = at + 1 WHERE sequence = 4'));
  expect(await check(file)).toEqual([expect.stringMatching(/^audit 4 was altered/)]);
});

async function verify(file: string) {
  return withAdmin(file, (admin) => admin.verifyAudit());
}

describe.each([false, true])('a row that contradicts the log, after a prune: %s', (isPruned) => {
  async function vaultWith(row: Parameters<typeof appendForged>[2]) {
    const vault = await fileVault(3);
    const { file } = vault;
    const archives = isPruned ? [archiveIn(vault)] : [];
    if (isPruned) await prune(vault);
    await appendForged(file, CREDENTIAL, row);
    const check = (given = archives) => doctor(file, { archives: given });
    return { file, check };
  }

  it.each(Object.entries(FORGED))('is found: %s', async (_name, forged) => {
    const { file, check } = await vaultWith(forged);
    const what = expect.stringMatching(forged.what[0]);
    expect(await verify(file)).toMatchObject({ ok: false, first_bad: { what } });
    for (const report of [await check(), await check([])]) {
      expect(report.findings).toContainEqual({ table: expect.any(String), id: expect.any(String), what });
    }
  });

  it('control: another row is accepted', async () => {
    const { file, check } = await vaultWith(HONEST);
    expect(await verify(file)).toMatchObject({ ok: true });
    expect(await check()).toMatchObject({ ok: true });
  });
});
