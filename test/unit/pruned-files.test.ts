import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { backUpVault, compactVault, restoreVault } from '../../src/vault/admin.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import {
  archiveIn,
  CREDENTIAL,
  callVault,
  doctor,
  type FileVault,
  fileVault,
  prune,
  withAdmin,
  withVault,
} from './vault-admin-fixture.ts';

/** Returns a vault whose entries up to now are in the archive `old`. */
async function pruned(tokens: number): Promise<FileVault> {
  const vault = await fileVault(tokens);
  expect((await prune(vault)).removed).toBeGreaterThan(0);
  return vault;
}

const change = ({ file, apiKey }: FileVault, data: string) =>
  withVault(file, async (vault) => {
    expect((await callVault(vault, apiKey, 'updateToken', { id: 'token-0', body: { data } })).status).toBe(200);
  });

/** Expects that verify, doctor, the archive and a second prune go on from the checkpoint in `file`. */
async function expectCheckpoint(vault: FileVault, tokens: number): Promise<void> {
  const { file } = vault;
  expect(await doctor(file)).toMatchObject({ ok: true, findings: [], checked: { tokens } });
  await withAdmin(file, async (admin) => {
    expect(await admin.verifyAudit()).toMatchObject({ ok: true });
    expect(await admin.verifyArchive(archiveIn(vault))).toMatchObject({ ok: true });
  });
  // The checkpoint still holds the revision of a token whose entries it removed.
  const before = await keepRows(file);
  await change(vault, 'again');
  expect(await doctor(file)).toMatchObject({ ok: true });
  await putBack(file, before, ['token']);
  expect((await doctor(file)).findings).toContainEqual(expect.objectContaining({ table: 'token', id: 'token-0' }));
}

it('vault compact gives back the space of pruned entries, and the checkpoint stays valid', async () => {
  const vault = await pruned(300);
  const [audit, size] = [await withAdmin(vault.file, (admin) => admin.verifyAudit()), statSync(vault.file).size];
  await compactVault({ file: vault.file, credential: CREDENTIAL });
  expect(statSync(vault.file).size).toBeLessThan(size);
  expect(await withAdmin(vault.file, (admin) => admin.verifyAudit())).toEqual(audit);
  await expectCheckpoint(vault, 300);
});

it('backup --verify checks a backup of a pruned vault, and a restored one goes on from the checkpoint', async () => {
  const vault = await pruned(5);
  const backup = join(vault.folder, 'backup.db');
  await backUpVault({ from: vault.file, to: backup, credential: CREDENTIAL });
  expect(await doctor(backup)).toMatchObject({ ok: true, findings: [], checked: { tokens: 5 } });
  const file = join(vault.folder, 'restored.db');
  await restoreVault({ from: backup, to: file, credential: CREDENTIAL });
  await expectCheckpoint({ ...vault, file }, 5);
});
