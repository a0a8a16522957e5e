import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { archiveFile } from '../../src/cli/files/archive-file.ts';
import { openVaultAdmin } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { appendForged, FORGED, HONEST } from '../checks/forged-rows.ts';
import { CREDENTIAL, fileVault } from './vault-admin-fixture.ts';

async function verify(file: string) {
  const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
  return admin.verifyAudit().finally(admin.close);
}

describe.each([false, true])('a row that contradicts the log, after a prune: %s', (isPruned) => {
  async function vaultWith(row: Parameters<typeof appendForged>[2]) {
    const { file, folder } = await fileVault(3);
    const archives = isPruned ? [archiveFile('--archive', join(folder, 'old'))] : [];
    for (const archive of archives) {
      const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
      await admin.pruneAudit(Date.now() + 60_000, archive).finally(admin.close);
    }
    await appendForged(file, CREDENTIAL, row);
    const doctor = (given = archives) => checkVaultFile({ file, credential: CREDENTIAL, archives: given });
    return { file, doctor };
  }

  it.each(Object.entries(FORGED))('is found: %s', async (_name, forged) => {
    const { file, doctor } = await vaultWith(forged);
    const what = expect.stringMatching(forged.what[0]);
    expect(await verify(file)).toMatchObject({ ok: false, first_bad: { what } });
    for (const report of [await doctor(), await doctor([])]) {
      expect(report.findings).toContainEqual({ table: expect.any(String), id: expect.any(String), what });
    }
  });

  it('control: another row is accepted', async () => {
    const { file, doctor } = await vaultWith(HONEST);
    expect(await verify(file)).toMatchObject({ ok: true });
    expect(await doctor()).toMatchObject({ ok: true });
  });
});
