import { describe, expect, it } from 'vitest';
import { appendForged, FORGED, HONEST } from '../checks/forged-rows.ts';
import { archiveIn, CREDENTIAL, doctor, fileVault, prune, withAdmin } from './vault-admin-fixture.ts';

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
