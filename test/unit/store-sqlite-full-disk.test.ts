import { copyFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { cannotMake } from '../../src/cli/files/whole-file.ts';
import { Fault } from '../../src/core/fault.ts';
import { Problem } from '../../src/core/problem.ts';
import { Checkpointer } from '../../src/store/sqlite/commit/checkpointer.ts';
import { openVaultFile } from '../../src/store/sqlite/file/open-vault-file.ts';
import { probeDisk } from '../../src/store/sqlite/file/probe-disk.ts';
import { isBusy, toFileFault, toProblem } from '../../src/store/sqlite/file/sqlite-error.ts';
import { openStore, rawConnection, temporaryFolder, temporaryVault } from './store-sqlite-fixture.ts';

const withCode = (code: string) => Object.assign(new Error('as it was said'), { code });

/** An error of SQLite, its fault while a vault opens, and its problem while the vault is used. */
const ERRORS = [
  ['SQLITE_FULL', 'no_space', 'no_space'],
  ['SQLITE_IOERR_WRITE', 'disk_error', 'disk_error'],
  ['SQLITE_IOERR_FSYNC', 'disk_error', 'disk_error'],
  ['SQLITE_IOERR_READ', 'disk_error', 'disk_error'],
  ['SQLITE_IOERR_SHORT_READ', 'damaged', 'integrity_failure'],
  ['SQLITE_CORRUPT', 'damaged', 'integrity_failure'],
  ['SQLITE_CORRUPT_INDEX', 'damaged', 'integrity_failure'],
  ['SQLITE_NOTADB', 'not_a_vault', 'integrity_failure'],
  ['SQLITE_BUSY_RECOVERY', 'locked_by_other', 'vault_busy'],
  ['SQLITE_READONLY_DIRECTORY', 'file_unwritable', undefined],
  ['SQLITE_READONLY_DBMOVED', 'locked_by_other', 'vault_moved'],
  ['SQLITE_CANTOPEN', 'file_unwritable', 'vault_moved'],
  ['EMFILE', 'too_many_files', 'vault_busy'],
  ['ENFILE', 'too_many_files', 'vault_busy'],
] as const;

describe('a full disk and damage are distinct', () => {
  it.each(ERRORS)('%s: the fault %s, the problem %s', (code, fault, problem) => {
    const error = withCode(code);
    const opening = toFileFault('v.db', error);
    expect(opening instanceof Fault && opening.code).toBe(fault);
    expect(opening).toMatchObject({ message: expect.stringMatching(/^v\.db /), cause: error });
    const using = toProblem(error);
    expect(using instanceof Problem ? using.code : undefined).toBe(problem);
    if (problem === undefined) expect(using).toBe(error);
    else expect(String(using)).not.toContain(error.message);
  });

  it.each([
    ['ENOSPC', 'no_space', 'no_space', /make room/],
    ['EDQUOT', 'no_space', 'no_space', /quota/],
    ['EFBIG', 'no_space', 'no_space', /ulimit -f/],
    ['EROFS', 'disk_error', 'read_only', /for writing/],
    ['EIO', 'disk_error', 'disk_error', /check the disk/],
    ['EPERM', 'disk_error', 'disk_error', /check the disk/],
    ['passed', 'disk_error', 'disk_error', /check the disk/],
  ] as const)('a failed write whose probe meets %s: the fault %s, the problem %s', (probe, fault, problem, hint) => {
    const error = withCode('SQLITE_IOERR_WRITE');
    const opening = toFileFault('v.db', error, probe);
    expect(opening).toMatchObject({ code: fault, hint: expect.stringMatching(hint) });
    expect(toProblem(error, probe)).toMatchObject({ code: problem, cause: { code: 'SQLITE_IOERR_WRITE', probe } });
  });

  it.each([
    ['EIO', 'disk_error'],
    ['EROFS', 'read_only'],
    ['ENOSPC', 'no_space'],
  ])('the path of the file is checked on a disk with %s', (code, problem) => {
    expect(toProblem(withCode(code))).toMatchObject({ code: problem });
  });

  it('any other error is unchanged', () => {
    for (const error of [withCode('ERR_OTHER'), withCode('SQLITE_ABORT'), new TypeError('x'), 'text']) {
      expect([toFileFault('v.db', error), toProblem(error), isBusy(error)]).toEqual([error, error, false]);
    }
    expect(toProblem(withCode('SQLITE_CONSTRAINT_UNIQUE'))).toMatchObject({ code: 'integrity_failure' });
  });

  it.each(['ENOSPC', 'EDQUOT'])('a key file that finds no space: %s', (code) => {
    expect(cannotMake('--key-file', 'k', withCode(code))).toMatchObject({
      code: 'no_space',
      message: '--key-file: there is no space left for k',
    });
  });
});

it('the probe of a disk leaves no file', async () => {
  const file = await temporaryVault();
  const before = readdirSync(dirname(file));
  expect(await probeDisk(file)).toBe('passed');
  expect(readdirSync(dirname(file))).toEqual(before);
});

describe('the log', () => {
  it('is emptied once when writes find no space', () => {
    let attempts = 0;
    const checkpointer = new Checkpointer(() => {
      attempts += 1;
      return true;
    });
    for (let count = 0; count < 10; count += 1) checkpointer.afterNoSpace();
    expect(attempts).toBe(1);
  });

  it('is emptied by a write that finds no space', async () => {
    const file = await temporaryVault();
    const { session } = await openVaultFile(file);
    const { connection } = session;
    const logSize = () => statSync(`${file}-wal`).size;
    await session.write('added', () => connection.exec('UPDATE counter SET at = at + 1 WHERE tenant = 0'));
    expect(logSize()).toBeGreaterThan(0);
    connection.pragma('max_page_count = 1');
    const large = () => connection.exec("INSERT INTO audit VALUES (9, 0, zeroblob(1000000), x'')");
    await expect(session.write('added', large)).rejects.toMatchObject({ code: 'no_space' });
    expect(logSize()).toBe(0);
    await session.close();
  });

  it('that a killed process left is emptied without a write', async () => {
    const file = await temporaryVault();
    const killed = await rawConnection(file);
    killed.exec('UPDATE counter SET at = at + 1 WHERE tenant = 0');
    const left = join(temporaryFolder(), 'vault.db');
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, left + suffix);
    const logSize = () => statSync(`${left}-wal`).size;
    expect(logSize()).toBeGreaterThan(0);
    await openStore(left);
    for (let waited = 0; logSize() > 0 && waited < 100; waited += 1) await sleep(50);
    expect(logSize()).toBe(0);
  });
});
