import fs, { chmodSync, chownSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { compactVault, resetVault } from '../../src/vault/admin.ts';
import { tamperFile } from '../checks/tamper-file.ts';
import { hurriedTime } from '../fakeable-timers.ts';
import { CREDENTIAL, callVault, doctor, fileVault, withAdmin, withVault } from './vault-admin-fixture.ts';

const POSIX = process.platform !== 'win32';
const OTHER = { kind: 'key_file', key: new Uint8Array(32).fill(8) } as const;
const compact = (file: string) => compactVault({ file, credential: CREDENTIAL });

/** Returns what a compacted file must keep. */
async function identity(file: string) {
  const { store, header } = await openVaultFile(file);
  try {
    return {
      header,
      audit: await store.auditHead(),
      note: await store.clockNote(),
    };
  } finally {
    await store.close();
  }
}

async function emptied(tokens: number) {
  const vault = await fileVault(tokens);
  await resetVault({ file: vault.file, credential: CREDENTIAL }, undefined);
  return vault;
}

it('gives space back, and keeps the header, the audit, the mode and the owner', async () => {
  const { folder, file, apiKey } = await emptied(500);
  const anchor = join(folder, 'anchor');
  await withVault(
    file,
    (vault) => callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } }),
    anchor,
  );
  if (POSIX) chmodSync(file, 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(file, 0, 1);
  const before = await identity(file);
  const said = readFileSync(anchor, 'utf8');

  const { bytes_before, bytes_after, ok, checked } = await compact(file);
  expect({ ok, tokens: checked.tokens }).toEqual({ ok: true, tokens: 1 });
  expect(bytes_after).toBeLessThan(bytes_before / 2);
  expect(statSync(file).size).toBe(bytes_after);
  expect(readdirSync(folder).sort()).toEqual(['anchor', 'vault.db']);
  if (POSIX) expect(statSync(file).mode & 0o777).toBe(0o640);
  if (isRoot) expect(statSync(file)).toMatchObject({ uid: 0, gid: 1 });
  expect(await identity(file)).toEqual(before);

  await withAdmin(file, async (admin) => {
    await admin.compareWithAnchor(anchor);
    expect(await admin.verifyAudit()).toMatchObject({ ok: true });
  });
  await withVault(file, async (vault) => expect((await vault.listTenants()).tenants.length).toBe(1), anchor);
  expect(readFileSync(anchor, 'utf8')).toBe(said);
});

it('writes the log of a killed process into the new file', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const kept = ['', '-wal'];
  await withVault(file, async (vault) => {
    await callVault(vault, apiKey, 'createToken', { body: { id: 'late', type: 'token', data: 'late' } });
    for (const suffix of kept) writeFileSync(join(folder, `k.db${suffix}`), readFileSync(file + suffix));
  });
  const killed = join(folder, 'k.db');
  if (POSIX) for (const suffix of kept) chmodSync(killed + suffix, 0o600);
  expect(statSync(`${killed}-wal`).size).toBeGreaterThan(0);
  expect((await compact(killed)).checked.tokens).toBe(2);
  expect(readdirSync(folder).sort()).toEqual(['k.db', 'vault.db']);
});

it('changes nothing while the file is in use, with a wrong key, or when the vault is damaged', async () => {
  const { folder, file, apiKey } = await emptied(20);
  const bytes = readFileSync(file);
  const refused = { code: 'locked_by_other', hint: expect.stringContaining('stop the daemon') };
  hurriedTime();
  await withVault(file, async (vault) => {
    await expect(compact(file)).rejects.toMatchObject(refused);
    const created = await callVault(vault, apiKey, 'createToken', { body: { type: 'token', data: 1 } });
    expect(created.status).toBe(201);
    expect((await callVault(vault, apiKey, 'deleteToken', { id: created.body['id'] })).status).toBe(204);
  });
  const wrong = compactVault({ file, credential: OTHER });
  await expect(wrong).rejects.toMatchObject({ code: 'wrong_credential' });
  await expect(compact(join(folder, 'none.db'))).rejects.toMatchObject({ code: 'file_missing' });
  await tamperFile(file, (connection) => connection.exec('DELETE FROM tombstone'));
  const altered = readFileSync(file);
  await expect(compact(file)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringContaining('no copy was made'),
  });
  expect(statSync(file).size).toBe(bytes.length);
  // Only the mark of the journal mode in the file's header may differ.
  const differing = readFileSync(file).reduce((sum, byte, at) => sum + (byte === altered[at] || at < 100 ? 0 : 1), 0);
  expect(differing).toBe(0);
  expect(readdirSync(folder).sort()).toEqual(['vault.db']);
});

it('no other process opens the file meanwhile, and a waiting one opens the new file', async () => {
  const { file } = await emptied(300);
  let opening: ReturnType<typeof openVaultFile> | undefined;
  const copying = async () => {
    await expect(openVaultFile(file, { busyDeadlineMs: 0 })).rejects.toMatchObject({ code: 'locked_by_other' });
    opening = openVaultFile(file);
  };
  let copied: Promise<void> | undefined;
  const { bytes_after } = await compactVault(
    { file, credential: CREDENTIAL },
    {
      copying: () => {
        copied = copying();
      },
    },
  );
  await copied;
  const opened = await opening;
  expect(statSync(file).size).toBe(bytes_after);
  expect(await opened?.store.inspect()).toEqual([]);
  await opened?.store.appendAudit([]);
  await opened?.store.ping();
  await opened?.store.close();
  expect(await doctor(file)).toMatchObject({ ok: true });
});

it.each(['ENOSPC', 'EDQUOT'])('keeps the old file on a disk that reports %s', async (code) => {
  const { folder, file } = await emptied(20);
  const { size, ino } = statSync(file);
  const failure: NodeJS.ErrnoException = Object.assign(new Error(code), { code });
  // The first sync is that of the folder, before the copy.
  const results = POSIX ? [null, failure] : [failure];
  const sync = vi.spyOn(fs, 'fsync').mockImplementation((_fd, done) => done(results.shift() ?? null));
  syncBuiltinESMExports();
  try {
    await expect(compact(file)).rejects.toMatchObject({ code: 'no_space' });
  } finally {
    sync.mockRestore();
    syncBuiltinESMExports();
  }
  expect(statSync(file)).toMatchObject({ size, ino });
  expect(readdirSync(folder).sort()).toEqual(['vault.db']);
  expect((await compact(file)).bytes_after).toBeLessThan(size);
});

it('removes what killed runs left, and no other file', async () => {
  const { folder, file } = await emptied(3);
  const hex = '0123456789abcdef';
  const left = [`.vault.db.compact.${hex}.new`, `.vault.db.compact.${hex}.new-wal`];
  const others = [`.other.db.compact.${hex}.new`, `.vault.db.${hex}.new`, '.vault.db.compact.new', 'compact'];
  for (const name of [...left, ...others]) {
    writeFileSync(join(folder, name), '');
    utimesSync(join(folder, name), 0, 0);
  }
  await compact(file);
  expect(readdirSync(folder).sort()).toEqual([...others, 'vault.db'].sort());
});
