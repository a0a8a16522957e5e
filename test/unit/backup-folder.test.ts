import { chmodSync, mkdirSync, readdirSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { backUpIntoFolder, backUpVault } from '../../src/vault/admin.ts';
import { CREDENTIAL, type FileVault, fileVault } from './vault-admin-fixture.ts';

const nameOf = (day: number) => `vault-202611${String(day).padStart(2, '0')}T030000Z.db`;
const at = (day: number) => () => new Date(Date.UTC(2026, 10, day, 3, 0, 0, 999));

let vault: FileVault;
let backups: string;
const names = () => readdirSync(backups).sort();
const keep = (day: number, count: number, file = vault.file) =>
  backUpIntoFolder({ from: file, credential: CREDENTIAL, folder: backups, keep: count, now: at(day) });

beforeEach(async () => {
  vault = await fileVault(2);
  backups = join(vault.folder, 'backups');
  mkdirSync(backups);
});

it('names backups by time in UTC and keeps the last ones', async () => {
  for (const day of [1, 2, 3]) {
    const { file, removed, checked } = await keep(day, 3);
    expect({ file, removed, tokens: checked.tokens }).toEqual({
      file: join(backups, nameOf(day)),
      removed: [],
      tokens: 2,
    });
  }
  expect((await keep(4, 3)).removed).toEqual([join(backups, nameOf(1))]);
  expect((await keep(5, 1)).removed).toEqual([2, 3, 4].map((day) => join(backups, nameOf(day))));
  expect(names()).toEqual([nameOf(5)]);
});

it('removes no other file', async () => {
  const other = await fileVault(1);
  await keep(1, 1, other.file);
  await backUpVault({ from: vault.file, to: join(backups, 'monday.db'), credential: CREDENTIAL });
  await backUpVault({ from: vault.file, to: join(backups, nameOf(9)), credential: CREDENTIAL });
  writeFileSync(join(backups, nameOf(2)), 'not a vault');
  mkdirSync(join(backups, nameOf(3)));
  const links = process.platform !== 'win32';
  if (links) symlinkSync(join(backups, nameOf(9)), join(backups, nameOf(4)));
  const { removed } = await keep(20, 1);
  expect(removed).toEqual([join(backups, nameOf(9))]);
  const left = [nameOf(1), nameOf(2), nameOf(3), ...(links ? [nameOf(4)] : []), nameOf(20), 'monday.db'];
  expect(names()).toEqual(left.sort());
});

it('keeps the vault itself, a backup in use, and a read-only one', async () => {
  for (const day of [1, 2, 3]) await keep(day, 9);
  const self = join(backups, nameOf(4));
  renameSync(vault.file, self);
  const { store } = await openVaultFile(join(backups, nameOf(1)));
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) chmodSync(join(backups, nameOf(2)), 0o444);
  const { removed } = await keep(5, 1, self);
  await store.close();
  expect(removed).toEqual([...(isRoot ? [2] : []), 3].map((day) => join(backups, nameOf(day))));
  expect(names()).toEqual([1, ...(isRoot ? [] : [2]), 4, 5].map(nameOf));
});

it('neither counts nor removes backups with a time in the future', async () => {
  for (const day of [7, 8]) await keep(day, 2);
  const future = [7, 8].map((day) => join(backups, nameOf(day)));
  expect(await keep(1, 1)).toMatchObject({ removed: [], future });
  expect(await keep(2, 1)).toMatchObject({ removed: [join(backups, nameOf(1))], future });
  expect(names()).toEqual([2, 7, 8].map(nameOf));
  expect(await keep(9, 2)).toMatchObject({ removed: [2, 7].map((day) => join(backups, nameOf(day))), future: [] });
});

it('takes the next second when another backup has the name', async () => {
  const other = await fileVault(1);
  await keep(1, 1, other.file);
  const times = [at(1)(), at(1)(), at(2)()];
  const now = () => times.shift() ?? new Date();
  const made = await backUpIntoFolder({ from: vault.file, credential: CREDENTIAL, folder: backups, keep: 1, now });
  expect(made.file).toBe(join(backups, nameOf(2)));
});

it('removes the unfinished backups of this vault after half a day', async () => {
  const { store, header } = await openVaultFile(vault.file);
  await store.close();
  const draft = (label: string, hex: string) => `.${nameOf(1)}.${label}.${hex.repeat(16)}.new`;
  const [old, young, foreign] = [draft(header.vault_id, 'a'), draft(header.vault_id, 'b'), draft('other', 'c')];
  for (const name of [old, young, foreign]) writeFileSync(join(backups, name), '');
  for (const name of [old, foreign]) utimesSync(join(backups, name), 0, 0);
  await keep(1, 1);
  expect(names()).toEqual([young, foreign, nameOf(1)].sort());
});

it('needs a folder, and leaves nothing after a failure', async () => {
  const into = (folder: string) => backUpIntoFolder({ from: vault.file, credential: CREDENTIAL, folder, keep: 1 });
  await expect(into(join(vault.folder, 'none'))).rejects.toMatchObject({ code: 'usage' });
  await expect(into(vault.file)).rejects.toMatchObject({ code: 'usage' });
  const credential = { kind: 'key_file', key: new Uint8Array(32) } as const;
  const wrong = backUpIntoFolder({ from: vault.file, credential, folder: backups, keep: 1 });
  await expect(wrong).rejects.toMatchObject({ code: 'wrong_credential' });
  expect(names()).toEqual([]);
});
