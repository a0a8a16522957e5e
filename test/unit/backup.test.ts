import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { backUpVault, compactVault, openVaultAdmin, restoreVault } from '../../src/vault/admin.ts';
import { checkVaultFile } from '../../src/vault/checks/check-vault-file.ts';
import { keepRows, putBack } from '../checks/put-back.ts';
import { tamperFile } from '../checks/tamper-file.ts';
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

const back = (from: string, to: string) => backUpVault({ from, to, credential: CREDENTIAL });
const restore = (from: string, to: string) => restoreVault({ from, to, credential: CREDENTIAL });

it('copies one state of a vault under writes, and the copy can be restored', async () => {
  const { folder, file, apiKey } = await fileVault(50);
  const [copy, again] = [join(folder, 'copy'), join(folder, 'again.db')];
  const create = (n: number) => ({ body: { id: `more-${n}`, type: 'token', data: n } });
  const acknowledged = await withVault(file, async (vault) => {
    let running = true;
    const made: number[] = [];
    const writer = (async () => {
      for (let n = 0; running; n += 1) {
        expect((await callVault(vault, apiKey, 'createToken', create(n))).status).toBe(201);
        made.push(n);
      }
    })();
    while (made.length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    const before = made.length;
    const { ok, checked } = await back(file, copy);
    expect(ok).toBe(true);
    expect(checked.tokens).toBeGreaterThanOrEqual(50 + before);
    running = false;
    await writer;
    return before;
  });
  if (process.platform !== 'win32') expect(statSync(copy).mode & 0o777).toBe(0o600);
  const untouched = readFileSync(copy);
  if (process.platform !== 'win32') chmodSync(copy, 0o444);
  await restore(copy, again);
  expect(readFileSync(copy).equals(untouched)).toBe(true);
  await withVault(again, async (vault) => {
    for (const [id, data] of [
      ['token-49', 49],
      [`more-${acknowledged - 1}`, acknowledged - 1],
    ] as const) {
      expect((await callVault(vault, apiKey, 'getToken', { id })).body['data']).toBe(data);
    }
    expect((await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } })).status).toBe(201);
  });
  expect(readdirSync(folder).sort()).toEqual(['again.db', 'copy', 'vault.db']);
});

it('rejects a damaged vault and a damaged backup', async () => {
  const { folder, file } = await fileVault(2);
  const copy = join(folder, 'copy');
  await back(file, copy);
  const damage = "UPDATE token SET full = presented WHERE id = 'token-1'";
  for (const each of [file, copy]) await tamperFile(each, (connection) => connection.exec(damage));
  const failure = { code: 'damaged', message: expect.stringContaining('token-1') };
  await expect(back(file, `${copy}2`)).rejects.toMatchObject(failure);
  await expect(restore(copy, join(folder, 'r.db'))).rejects.toMatchObject(failure);
  expect(existsSync(`${copy}2`)).toBe(false);
  expect(existsSync(join(folder, 'r.db'))).toBe(false);
});

it('does not accept the file of a running vault as a backup', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } });
    await expect(restore(file, join(folder, 'r.db'))).rejects.toMatchObject({ code: 'conflict' });
  });
});

it('holds neither the old keys nor their ciphertexts after a rotation, in file and log', async () => {
  const { file, apiKey } = await fileVault(300);
  const old: Buffer[] = [];
  await tamperFile(file, (connection) => {
    const rows = connection
      .prepare<[], Buffer>(
        'SELECT wrapped FROM tenant_key UNION ALL SELECT details FROM application UNION ALL SELECT full FROM token',
      )
      .pluck();
    // Compare nonce and ciphertext; the bytes before them are the same in many values.
    old.push(...rows.all().map((bytes) => bytes.subarray(5, 45)));
  });
  const holds = (bytes: Buffer) => old.filter((secret) => bytes.includes(secret)).length;
  expect(holds(readFileSync(file))).toBe(304);
  await withVault(file, async (vault) => {
    const admin = await openVaultAdmin({ file, credential: CREDENTIAL });
    await admin.rotate({ indexes: true, master: true });
    // The log is empty before any connection closes.
    expect(statSync(`${file}-wal`).size).toBe(0);
    await admin.close();
    expect((await callVault(vault, apiKey, 'getToken', { id: 'token-7' })).body['data']).toBe(7);
  });
  expect(holds(readFileSync(file))).toBe(0);
  expect(await doctor(file)).toMatchObject({ ok: true });
});

it('reports the size of the file before it is copied, and the checked records of all', async () => {
  const { folder, file } = await fileVault(50);
  const watch = () => {
    const seen: (number | readonly [done: number, total: number])[] = [];
    const progress = {
      copying: (bytes: number) => void seen.push(bytes),
      checking: (done: number, total: number) => void seen.push([done, total]),
    };
    return { seen, progress };
  };
  const [copy, again] = [join(folder, 'copy'), join(folder, 'again.db')];
  const [made, restored, checked] = [watch(), watch(), watch()];
  await backUpVault({ from: file, to: copy, credential: CREDENTIAL }, made.progress);
  await restoreVault({ from: copy, to: again, credential: CREDENTIAL }, restored.progress);
  await checkVaultFile({ file, credential: CREDENTIAL }, checked.progress.checking);
  // The tenant, its two applications with a key each, and the tokens.
  const steps = [25, 45, 55, 55, 55].map((done) => [done, 55]);
  expect(made.seen).toEqual([statSync(file).size, ...steps]);
  expect(restored.seen).toEqual([statSync(copy).size, ...steps]);
  expect(checked.seen).toEqual(steps);
});

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
