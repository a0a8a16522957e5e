import { existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { makeVaultFile } from '../checks/vault-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = temporaryFolder(onTestFinished);
  ({ file } = await makeVaultFile(folder));
});

async function open(at: string) {
  const opened = await openVaultFile(at, { busyDeadlineMs: 50 });
  onTestFinished(() => opened.store.close());
  return opened;
}

/** Gives an open file a path beside which SQLite sees no log. */
const MOVES: readonly (readonly [name: string, move: (to: string) => void])[] = [
  ['was renamed', (to) => renameSync(file, to)],
  [
    'lost the name under which it is open',
    (to) => {
      linkSync(file, to);
      rmSync(file);
    },
  ],
];

it.each(MOVES)('does not open a file that %s while it is open', async (_, move) => {
  await open(file);
  const to = join(folder, 'renamed.db');
  move(to);
  await expect(open(to)).rejects.toMatchObject({ code: 'locked_by_other' });
  expect(existsSync(`${to}-wal`)).toBe(false);
});

it('control: opens a file twice by one path, and a renamed file that was closed', async () => {
  const both = [await open(file), await open(file)];
  const to = join(folder, 'renamed.db');
  renameSync(file, to);
  for (const { store } of both) await store.close();
  await open(to);
});

it('opens a file from many callers at once', async () => {
  await Promise.all(Array.from({ length: 8 }, () => openVaultFile(file).then(({ store }) => store.close())));
});
