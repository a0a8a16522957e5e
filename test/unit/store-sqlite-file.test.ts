import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { link, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { assertOnePath } from '../../src/store/sqlite/file/assert-one-path.ts';
import { checkOpenable } from '../../src/store/sqlite/file/check-openable.ts';
import { connect, setPragmas } from '../../src/store/sqlite/file/connect.ts';
import { createVaultFile } from '../../src/store/sqlite/file/create-vault-file.ts';
import { bindingRuns, loadDriver } from '../../src/store/sqlite/file/driver.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { addTenant, ENTRY, sealed } from '../conformance/store-fixtures.ts';
import { HEADER, openStore, rawConnection, temporaryFolder, temporaryVault } from './store-sqlite-fixture.ts';

const POSIX = process.platform !== 'win32';

const plainHeader = (header: typeof HEADER) => JSON.parse(JSON.stringify({ ...header, mac: [...header.mac] }));

async function refusal(file: string, busyDeadlineMs?: number): Promise<unknown> {
  return await openVaultFile(file, { busyDeadlineMs }).then(
    async ({ store }) => {
      await store.close();
      return 'opened';
    },
    (error: { readonly code?: unknown }) => error.code ?? error,
  );
}

/** Runs SQL on the file through another connection. */
async function alter(file: string, sql: string): Promise<void> {
  const connection = new (await loadDriver())(file);
  connection.exec(sql);
  connection.close();
}

describe('createVaultFile', () => {
  it('creates a file closed to other users with the header, and leaves no other file', async () => {
    const file = await temporaryVault();
    expect(readdirSync(dirname(file))).toEqual(['vault.db']);
    if (POSIX) expect(statSync(file).mode & 0o777).toBe(0o600);
    const { header, store } = await openVaultFile(file);
    await store.close();
    const slots = header.slots.map(({ slot, bytes }) => ({ slot, bytes: new Uint8Array(bytes) }));
    expect({ ...header, slots, mac: new Uint8Array(header.mac) }).toEqual({
      ...HEADER,
      mac: new Uint8Array(HEADER.mac),
    });
  });

  it('keeps it and the files of SQLite closed to others under any umask', async () => {
    if (!POSIX) return;
    const before = process.umask(0);
    try {
      const file = await temporaryVault();
      const store = await openStore(file);
      await addTenant(store);
      for (const name of readdirSync(dirname(file))) {
        expect([name, statSync(join(dirname(file), name)).mode & 0o777]).toEqual([name, 0o600]);
      }
    } finally {
      process.umask(before);
    }
  });

  it('never touches an existing file, folder, link or log', async () => {
    for (const make of [
      (path: string) => writeFile(path, 'mine'),
      (path: string) => mkdirSync(path),
      (path: string) => symlink('nowhere', path),
      (path: string) => writeFile(`${path}-wal`, 'mine'),
      (path: string) => writeFile(`${path}-journal`, 'mine'),
    ]) {
      const folder = temporaryFolder();
      await make(join(folder, 'vault.db'));
      const names = readdirSync(folder);
      await expect(createVaultFile(join(folder, 'vault.db'), HEADER)).rejects.toMatchObject({ code: 'file_exists' });
      expect(readdirSync(folder)).toEqual(names);
    }
  });

  it('reports a missing folder', async () => {
    const file = join(temporaryFolder(), 'none', 'vault.db');
    await expect(createVaultFile(file, HEADER)).rejects.toMatchObject({ code: 'file_unwritable' });
    await expect(createVaultFile(`${file} `, HEADER)).rejects.toMatchObject({ code: 'usage' });
  });

  it('leaves nothing behind when the header cannot be stored', async () => {
    const file = join(temporaryFolder(), 'vault.db');
    const twice = { ...HEADER, slots: [HEADER.slots[0], HEADER.slots[0]].filter((slot) => slot !== undefined) };
    await expect(createVaultFile(file, twice)).rejects.toThrow();
    expect(readdirSync(dirname(file))).toEqual([]);
  });
});

it('setPragmas rejects a file that does not take a setting', async () => {
  const connection = new (await loadDriver())(':memory:');
  const message = 'the file rejects the setting journal_mode = WAL';
  expect(() => setPragmas(connection)).toThrow(expect.objectContaining({ code: 'file_unwritable', message }));
  connection.close();
});

describe('openVaultFile', () => {
  it('rejects a missing file', async () => {
    const file = join(temporaryFolder(), 'none.db');
    expect([await refusal(file), await refusal(`${file} `)]).toEqual(['file_missing', 'usage']);
  });

  it.each([0o600, 0o644])('reports a file that is not a vault as such, whatever its mode: %i', async (mode) => {
    const folder = temporaryFolder();
    await alter(join(folder, 'foreign.db'), 'CREATE TABLE token (a); INSERT INTO token VALUES (1)');
    for (const [name, bytes] of [
      ['empty.db', ''],
      ['short.db', 'VLT1'],
      ['text.db', 'a text that is not a database\n'.repeat(400)],
      ['random.db', sealed('random', 8192)],
    ] as const) {
      await writeFile(join(folder, name), bytes);
    }
    for (const name of readdirSync(folder)) {
      chmodSync(join(folder, name), mode);
      const before = readFileSync(join(folder, name));
      expect([name, await refusal(join(folder, name))]).toEqual([name, 'not_a_vault']);
      expect(readFileSync(join(folder, name)).equals(before)).toBe(true);
    }
  });

  it('rejects a newer format, an invalid format and other tables', async () => {
    for (const [sql, code] of [
      ['PRAGMA user_version = 2', 'newer_format'],
      ['PRAGMA user_version = 0', 'damaged'],
      ['PRAGMA user_version = -1', 'damaged'],
      ['DELETE FROM header', 'damaged'],
      ['DROP TABLE tombstone', 'damaged'],
      ['CREATE TABLE more (a)', 'damaged'],
      ['CREATE TRIGGER t AFTER INSERT ON token BEGIN DELETE FROM tombstone; END', 'damaged'],
      ['PRAGMA application_id = 7', 'not_a_vault'],
    ] as const) {
      const file = await temporaryVault();
      await alter(file, sql);
      const before = readFileSync(file);
      expect([sql, await refusal(file)]).toEqual([sql, code]);
      expect([sql, readFileSync(file).equals(before)]).toEqual([sql, true]);
    }
  });

  it('reports a truncated file as damaged', async () => {
    const file = await temporaryVault();
    await truncate(file, 4096);
    expect(await refusal(file)).toBe('damaged');
  });

  it('rejects links, folders and files that others may write', async () => {
    const file = await temporaryVault();
    const folder = dirname(file);
    await symlink(file, join(folder, 'link.db'));
    mkdirSync(join(folder, 'folder.db'));
    expect(await refusal(join(folder, 'link.db'))).toBe('file_unsafe');
    expect(await refusal(join(folder, 'folder.db'))).toBe('file_unsafe');
    if (!POSIX) return;
    for (const mode of [0o620, 0o602, 0o666]) {
      chmodSync(file, mode);
      expect([mode, await refusal(file)]).toEqual([mode, 'file_unsafe']);
    }
    chmodSync(file, 0o644);
    await (await openVaultFile(file)).store.close();
    chmodSync(file, 0o600);
    await symlink('/dev/null', `${file}-wal`);
    expect(await refusal(file)).toBe('file_unsafe');
  });

  it('rejects a folder or file that cannot be written', async () => {
    // Root may write everywhere.
    if (!POSIX || process.getuid?.() === 0) return;
    const file = await temporaryVault();
    chmodSync(file, 0o400);
    expect(await refusal(file)).toBe('file_unwritable');
    chmodSync(file, 0o600);
    chmodSync(dirname(file), 0o500);
    expect(await refusal(file)).toBe('file_unwritable');
    chmodSync(dirname(file), 0o700);
  });

  it.each([
    ['a hard link', 'hard.db', 'file_unsafe'],
    ['a hard link in the form of a backup', 'vault.db.backup', 'file_unsafe'],
    ['the draft of another file', '.other.db.0123456789abcdef.new', 'file_unsafe'],
    ['a draft with too short a number', '.vault.db.0123456789abcde.new', 'file_unsafe'],
    ['the draft of a killed init', '.vault.db.0123456789abcdef.new', 'opened'],
    ['the draft of a killed move', '.vault.db.move.0123456789abcdef.new', 'opened'],
    ['the copy of a killed move', 'vault.db.moving', 'opened'],
  ])('with %s: %s is %s', async (_, other, outcome) => {
    const file = await temporaryVault();
    const folder = dirname(file);
    await link(file, join(folder, other));
    expect(await refusal(file)).toBe(outcome);
    expect(readdirSync(folder)).toHaveLength(outcome === 'opened' ? 1 : 2);
  });

  it('keeps a draft that has a log: another process has it open', async () => {
    const file = await temporaryVault();
    const draft = join(dirname(file), '.vault.db.0123456789abcdef.new');
    await link(file, draft);
    await writeFile(`${draft}-wal`, '');
    expect(await refusal(file)).toBe('file_unsafe');
    expect(existsSync(draft)).toBe(true);
  });

  it('refuses a file that is a mount point, and reads one', async () => {
    const file = await temporaryVault();
    const found = lstatSync(file, { bigint: true });
    const isMounted = (path: string) => path === file;
    expect(() => assertOnePath(file, found, isMounted)).toThrow(`${file} is a mount point`);
    expect(() => assertOnePath(file, found, () => false)).not.toThrow();
    await link(file, join(dirname(file), 'backup.db'));
    expect(checkOpenable(file, { isOnlyRead: true }).nlink).toBe(2n);
  });

  it('gives up on a file that another process holds', async () => {
    const file = await temporaryVault();
    const other = await rawConnection(file);
    other.pragma('locking_mode = EXCLUSIVE');
    other.exec('BEGIN EXCLUSIVE');
    expect(await refusal(file, 300)).toBe('locked_by_other');
  });

  it('replaces the whole header and removes the old slots from the log', async () => {
    const file = await temporaryVault();
    const { store } = await openVaultFile(file);
    const next = { ...HEADER, generation: 9, slots: [{ slot: 2, bytes: sealed('only', 64) }] };
    expect(await store.replaceHeader(next, { ...HEADER, mac: sealed('other', 32) }, ENTRY)).toBe(false);
    expect(await store.replaceHeader(next, HEADER, ENTRY)).toBe(true);
    expect(statSync(`${file}-wal`).size).toBe(0);
    await store.close();
    const again = await openVaultFile(file);
    await again.store.close();
    expect(plainHeader(again.header)).toMatchObject({ generation: 9, slots: [{ slot: 2 }] });
    expect(readFileSync(file).includes(Buffer.from(HEADER.slots[0]?.bytes ?? []))).toBe(false);
  });
});

describe('the connection', () => {
  it('has every setting each time it opens', async () => {
    const file = await temporaryVault();
    const connection = connect(await loadDriver(), file);
    try {
      setPragmas(connection);
      const read = (name: string) => connection.pragma(name, { simple: true });
      expect(read('journal_mode')).toBe('wal');
      expect(read('synchronous')).toBe(2);
      expect(read('secure_delete')).toBe(1);
      expect(read('temp_store')).toBe(2);
      expect(read('trusted_schema')).toBe(0);
      expect(read('cell_size_check')).toBe(1);
      expect(read('foreign_keys')).toBe(1);
      expect(read('mmap_size')).toBe(0);
      expect(read('busy_timeout')).toBe(0);
    } finally {
      connection.close();
    }
  });

  it.each([
    ['10', true],
    ['11', true],
    ['9', false],
    [undefined, false],
  ])('runs on Node-API %s: %s', (nodeApi, runs) => {
    expect(bindingRuns(nodeApi)).toBe(runs);
  });

  it('fails with binding_missing when the driver cannot load its binding', async () => {
    const Database = await loadDriver();
    const open = (error: Error) => () => {
      const construct = () => {
        throw error;
      };
      connect(new Proxy(Database, { construct }), '/vault.db');
    };
    const cause = Object.assign(new Error('libstdc++.so.6: not found\nby ld.so'), { code: 'ERR_DLOPEN_FAILED' });
    const message = 'cannot load the native part of better-sqlite3: libstdc++.so.6: not found';
    expect(open(cause)).toThrow(expect.objectContaining({ code: 'binding_missing', message, cause }));
    const damage = new Database.SqliteError('not a database', 'SQLITE_NOTADB');
    expect(open(damage)).toThrow(damage);
  });
});

it('a vault that is replaced after the check is checked again', async () => {
  const [file, other, unsafe] = [await temporaryVault(), await temporaryVault(), await temporaryVault()];
  const opening = refusal(file);
  // The check ran synchronously; the file is opened in a later turn.
  renameSync(other, file);
  expect(await opening).toBe('opened');
  if (process.platform === 'win32') return;
  chmodSync(unsafe, 0o666);
  const second = refusal(file);
  renameSync(unsafe, file);
  expect(await second).toBe('file_unsafe');
  chmodSync(file, 0o600);
  expect(await refusal(file)).toBe('opened');
});
