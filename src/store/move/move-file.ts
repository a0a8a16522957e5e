import { existsSync, lstatSync, realpathSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { Fault } from '../../core/fault.ts';
import type { LastRow, MakeCopy, MoveLocation, MoveSource } from '../../core/move-ports.ts';
import type { VaultHeader } from '../../core/ports.ts';
import { wallTime } from '../../core/timers.ts';
import { ownerOfVaultFile } from '../../paths/create-file.ts';
import { putInPlace } from '../../paths/put-in-place.ts';
import { identityOf } from '../sqlite/file/check-openable.ts';
import { openAlone } from '../sqlite/file/compact-file.ts';
import { withConnection } from '../sqlite/file/connect.ts';
import { createTables } from '../sqlite/file/create-vault-file.ts';
import { type Connection, selectNumber } from '../sqlite/file/driver.ts';
import { MOVING } from '../sqlite/file/file-names.ts';
import { readHeader } from '../sqlite/file/header-table.ts';
import { openVaultFile, withVaultFile } from '../sqlite/file/open-vault-file.ts';
import { assertFree, placeFile, removeDrafts, syncFolder } from '../sqlite/file/place-file.ts';
import { toFileFault } from '../sqlite/file/sqlite-error.ts';
import { auditRows } from '../sqlite/tables/audit-rows.ts';
import { readFileRows, writeFileRows } from './file-rows.ts';
import { MOVED_TABLES } from './moved-tables.ts';

const LABEL = 'move';
const MOVED = '.moved';

/**
 * Returns a file as the location of a vault that is moved. The copy is `FILE.moving` until it is finished, and a source
 * becomes `FILE.moved`. Renaming is atomic, so a killed move leaves either the old name or the new one. No other
 * process can have the file open while it is moved.
 */
export function movedFile(path: string): MoveLocation {
  const file = resolve(path);
  const [copy, movedAway] = [file + MOVING, file + MOVED];

  return {
    shown: path,

    async find(role) {
      if (role === 'target') {
        if (existsSync(file)) return { state: 'vault', vaultId: await vaultIdOf(file) };
        assertFree(file);
        return existsSync(copy) ? { state: 'copied', ...(await lastOf(copy)) } : { state: 'empty' };
      }
      if (existsSync(file) || !existsSync(movedAway)) return { state: 'vault', vaultId: (await lastOf(file)).vaultId };
      return { state: 'moved_away', ...(await lastOf(movedAway)) };
    },

    hasRow(sealed) {
      const find = 'SELECT 1 FROM audit WHERE sealed = +? LIMIT 1';
      return withVaultFile(
        file,
        async ({ session }) => session.connection.prepare<[Uint8Array]>(find).get(sealed) !== undefined,
      );
    },

    openSource: (keep) => (keep ? openToCopy(file) : openToMove(file, movedAway)),

    async makeCopy(header, make) {
      await removeDrafts(dirname(file), { label: LABEL, target: copy, minAgeMs: 0 });
      await placeFile(copy, (building) => build(building, header, make), {
        label: LABEL,
        owner: ownerOfVaultFile(file),
      });
    },

    async removeCopy() {
      await removeDrafts(dirname(file), { label: LABEL, target: copy, minAgeMs: 0 });
      await rm(copy, { force: true });
    },

    async finishCopy() {
      await putInPlace(copy, file, 'new');
      await syncFolder(dirname(file));
    },

    async takeBack() {
      assertFree(file);
      renameSync(movedAway, file);
      await syncFolder(dirname(file));
    },
  };
}

/**
 * Throws the fault `conflict` if a move between two files would use one file as both. A move from `v.moving` to `v`
 * would take its source for the copy of a killed move, and remove it.
 */
export function assertApart(from: string, to: string): void {
  const used = new Set([from, from + MOVED].flatMap(identitiesOf));
  const shared = [to, to + MOVING].find((name) => identitiesOf(name).some((identity) => used.has(identity)));
  if (shared === undefined) return;
  throw new Fault('conflict', `a move from ${from} to ${to} would replace ${shared}`, { hint: 'name another target' });
}

/** Returns the path of a file with its folder's real name, and the number of an existing file. */
function identitiesOf(name: string): readonly string[] {
  const [file, folder] = [resolve(name), dirname(resolve(name))];
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  const path = join(existsSync(folder) ? realpathSync(folder) : folder, basename(file));
  return found === undefined ? [path] : [path, identityOf(found)];
}

/** Resolves to the id of the vault in a file; an empty text for any other file. */
async function vaultIdOf(file: string): Promise<string> {
  try {
    return (await lastOf(file)).vaultId;
  } catch (error) {
    if (error instanceof Fault) return '';
    throw error;
  }
}

function lastOf(file: string): Promise<{ readonly vaultId: string; readonly sealed: Uint8Array }> {
  return withVaultFile(file, async ({ store, header }) => {
    const { sequence } = await store.auditHead();
    const [last] = await store.readAudit(sequence - 1, 1);
    return { vaultId: header.vault_id, sealed: last?.sealed ?? new Uint8Array() };
  });
}

/** Opens a file so that no other process can open it. */
async function openToMove(file: string, movedAway: string): Promise<MoveSource> {
  // Checks the file.
  await (await openVaultFile(file)).store.close();
  if (lstatSync(movedAway, { throwIfNoEntry: false }) !== undefined) {
    throw new Fault('file_exists', `${movedAway} exists, and ${file} would get this name`, {
      hint: 'rename it, or remove it if you no longer need it',
    });
  }
  const { path, connection } = await openAlone(file);
  return {
    ...sourceOf(path, connection),
    async leave(last) {
      appendLast(connection, last);
      // Only Windows refuses to rename an open file. Elsewhere the lock holds until the file has its new name.
      if (process.platform === 'win32') connection.close();
      renameSync(path, movedAway);
      await syncFolder(dirname(path));
    },
    close: async () => void connection.close(),
  };
}

/** Opens one consistent state of a file that other processes may use. */
async function openToCopy(file: string): Promise<MoveSource> {
  const { store, session } = await openVaultFile(file);
  session.connection.exec('BEGIN');
  return {
    ...sourceOf(file, session.connection),
    leave: () => Promise.reject(new Error('unreachable: the source of a copy stays')),
    async close() {
      session.connection.exec('ROLLBACK');
      await store.close();
    },
  };
}

function sourceOf(file: string, connection: Connection): Omit<MoveSource, 'leave' | 'close'> {
  try {
    const header = readHeader(connection);
    if (header === undefined) throw new Fault('damaged', `${file} has no header`);
    const audit = auditRows(connection);
    const tokens = selectNumber(connection, 'SELECT count(*) FROM token');
    return {
      header,
      tokens,
      now: wallTime(),
      tables: MOVED_TABLES,
      rows: readFileRows(connection),
      auditHead: async () => audit.end(),
      readAudit: async (after, limit) => audit.read(after, limit),
    };
  } catch (error) {
    connection.close();
    throw toFileFault(file, error);
  }
}

function appendLast(connection: Connection, last: LastRow): void {
  connection.transaction(() => {
    connection.prepare<[LastRow]>('INSERT INTO audit VALUES (@sequence, @at, @sealed, @link)').run(last);
  })();
}

async function build(file: string, header: VaultHeader, { fill, check }: MakeCopy): Promise<void> {
  await withConnection(file, async (connection) => {
    // Nobody sees the file before it is complete and synced.
    connection.pragma('journal_mode = MEMORY');
    connection.pragma('synchronous = OFF');
    createTables(connection, header);
    // The copy has a base of its own.
    connection.exec('DELETE FROM audit');
    await fill(writeFileRows(connection), readFileRows(connection));
  });
  await withVaultFile(file, ({ store }) => check(store));
}
