import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { tamperFile } from '../checks/tamper-file.ts';
import { callOnce, callVault, doctor, fileVault, openedVault, withAdmin, withVault } from './vault-admin-fixture.ts';

const TOKEN = { body: { type: 'token', data: 1 } };
const OLDER = { code: 'damaged', message: expect.stringContaining('older than its anchor') };

it('an anchor is created on the first open, follows the commits and rejects an older copy of the vault', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  const found = async () => (await doctor(file, { anchor })).findings;
  const says = (what: string) => [{ table: 'counter', id: '', what: expect.stringContaining(what) }];
  expect(await found()).toEqual(says(`there is no anchor at ${anchor}`));
  await withVault(file, async () => undefined, anchor);
  expect(await found()).toEqual([]);
  if (process.platform !== 'win32') expect(statSync(anchor).mode & 0o777).toBe(0o600);
  const older = readFileSync(file);
  const first = readFileSync(anchor, 'utf8');
  await withVault(
    file,
    async (vault) => {
      await callVault(vault, apiKey, 'createToken', TOKEN);
      // The open vault keeps its anchor up to date, so a killed process leaves a current one.
      for (let waited = 0; waited < 60 && readFileSync(anchor, 'utf8') === first; waited += 1) await sleep(50);
      expect(readFileSync(anchor, 'utf8')).not.toBe(first);
    },
    anchor,
  );
  // Write without the anchor: a vault that is ahead of its anchor is accepted.
  await callOnce({ file }, apiKey, 'createToken', TOKEN);
  await withVault(file, async () => undefined, anchor);

  const newest = readFileSync(file);
  writeFileSync(file, older);
  expect(await found()).toEqual(says('older than its anchor'));
  await withVault(file, async () => undefined);
  await expect(withVault(file, async () => undefined, anchor)).rejects.toMatchObject(OLDER);
  // A copy with as many commits but another history is rejected, too.
  for (let n = 0; n < 2; n += 1) await callOnce({ file }, apiKey, 'createToken', TOKEN);
  const other = { code: 'damaged', message: expect.stringContaining('does not match the anchor') };
  await expect(withVault(file, async () => undefined, anchor)).rejects.toMatchObject(other);
  writeFileSync(file, newest);
  await withVault(file, async () => undefined, anchor);
});

it('an anchor is written only after a commit', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  const inode = () => statSync(anchor, { bigint: true }).ino;
  await withVault(file, async () => undefined, anchor);
  const first = inode();
  await withVault(file, async () => undefined, anchor);
  expect(inode()).toBe(first);
  await withVault(file, (vault) => callVault(vault, apiKey, 'createToken', TOKEN), anchor);
  expect(inode()).not.toBe(first);
});

it('an anchor that cannot be written does not keep the vault from closing', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const away = join(folder, 'away');
  mkdirSync(away);
  const closing = withVault(
    file,
    async (vault) => {
      await callVault(vault, apiKey, 'createToken', TOKEN);
      rmSync(away, { recursive: true });
    },
    join(away, 'anchor'),
  );
  await expect(closing).rejects.toMatchObject({ code: 'file_unwritable' });
  expect(existsSync(`${file}-wal`)).toBe(false);
});

it('an open vault shows while its anchor is not written, or names a later commit', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  const vault = await openedVault(file, { anchor });
  const change = () => callVault(vault, apiKey, 'createToken', TOKEN);
  const shows = (...notices: readonly unknown[]) =>
    vi.waitFor(async () => expect(await vault.notices()).toEqual(notices), 8_000);
  const older = readFileSync(anchor);
  rmSync(anchor);
  symlinkSync(join(folder, 'other'), anchor);
  await change();
  await shows(expect.stringMatching(/^the anchor is not written since 2\d{3}-\S+Z \(file_unsafe\): /));
  rmSync(anchor);
  await shows();
  await vi.waitFor(() => expect(existsSync(anchor)).toBe(true), 8_000);
  writeFileSync(anchor, readFileSync(anchor, 'utf8').replace(/\n\d+\n/, '\n99\n'));
  await change();
  await shows(expect.stringContaining('the anchor is damaged, or belongs to another vault: run `vault doctor`'));
  writeFileSync(anchor, older);
  await shows();
});

it('an edited anchor and the anchor of another vault are rejected; a new master key keeps the anchor valid', async () => {
  const { folder, file } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  await withVault(file, async () => undefined, anchor);
  await withAdmin(file, (admin) => admin.rotate({ master: true, indexes: false }));
  await withVault(file, async () => undefined, anchor);

  const text = readFileSync(anchor, 'utf8');
  const [heading, id, counter, mark, mac] = text.split('\n');
  const altered = [
    text.replace(/\n\d+\n/, '\n1\n'),
    text.replace('anchor 1', 'anchor 2'),
    `${text}\n`,
    text.slice(0, -1),
    '',
    [heading, id, counter, mark, mac?.replace(/^./, (digit) => (digit === '0' ? '1' : '0')), ''].join('\n'),
  ];
  for (const each of altered) {
    writeFileSync(anchor, each);
    await expect(withVault(file, async () => undefined, anchor)).rejects.toMatchObject({ code: 'damaged' });
  }
  const other = await fileVault(0);
  writeFileSync(anchor, text);
  await expect(withVault(other.file, async () => undefined, anchor)).rejects.toMatchObject({ code: 'damaged' });
  const nowhere = join(folder, 'no', 'such', 'folder');
  await expect(withVault(file, async () => undefined, nowhere)).rejects.toMatchObject({ code: 'file_unwritable' });
  expect(existsSync(nowhere)).toBe(false);
});

it('an anchor detects a truncated log', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  const copy = join(folder, 'copy.db');
  await withVault(
    file,
    async (vault) => {
      for (let n = 0; n < 5; n += 1) await callVault(vault, apiKey, 'createToken', TOKEN);
      await sleep(1300);
      // Copy the file while its log is not yet checkpointed, as after a crash.
      copyFileSync(file, copy);
      copyFileSync(`${file}-wal`, `${copy}-wal`);
    },
    anchor,
  );
  const taken = readFileSync(`${copy}-wal`);
  const whole = readFileSync(copy);
  expect(taken.length).toBeGreaterThan(10_000);
  truncateSync(`${copy}-wal`, Math.floor(taken.length / 2));
  await expect(withVault(copy, async () => undefined, anchor)).rejects.toMatchObject(OLDER);
  for (const suffix of ['-wal', '-shm']) rmSync(copy + suffix, { force: true });
  writeFileSync(copy, whole);
  writeFileSync(`${copy}-wal`, taken, { mode: 0o600 });
  await withVault(copy, async () => undefined, anchor);
});

it('an anchor detects an older file whose counter was raised', async () => {
  const { folder, file, apiKey } = await fileVault(1);
  const anchor = join(folder, 'anchor');
  const older = readFileSync(file);
  await withVault(file, (vault) => callVault(vault, apiKey, 'createToken', TOKEN), anchor);
  const counter = Number(readFileSync(anchor, 'utf8').split('\n')[2]);
  writeFileSync(file, older);
  await tamperFile(file, (connection) =>
    connection.prepare('UPDATE counter SET count = ? WHERE tenant = 0').run(counter),
  );
  await expect(withVault(file, async () => undefined, anchor)).rejects.toMatchObject(OLDER);
});
