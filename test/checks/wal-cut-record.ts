import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { remoteClient } from '../../src/client/remote.ts';
import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, type Driver, loadDriver } from '../../src/store/sqlite/file/driver.ts';
import { startDaemon } from './daemon-process.ts';
import { makeFolder } from './folder.ts';
import { createCaller } from './perform.ts';
import { makeVaultFile, type VaultFile } from './vault-file.ts';

/** Milliseconds to wait for the anchor, which the daemon writes once a second. */
const ANCHOR_MS = 1_400;

/** The maximum length of a filling in characters. Some tokens then need more than one page. */
const MAX_FILLING = 400;

const BATCH = 3;
/** Each write whose version is a multiple of this creates a batch. */
const BATCH_EVERY = 7;

export type Tokens = ReadonlyMap<string, number>;

/** A vault whose daemon was killed while all of its commits were in the log. */
export interface RecordedLog extends LogLayout, Pick<VaultFile, 'credential' | 'everything'> {
  readonly database: Buffer;
  readonly log: Buffer;
  /** The ends of the commits of writes. Others write the index of the log. */
  readonly writeEnds: readonly number[];
  readonly states: readonly Tokens[];
  readonly anchors: ReadonlyMap<number, string>;
}

/** Makes `commits` writes, one after another. `anchoredAt` lists the commits after which the anchor is kept. */
export async function recordLog(
  commits: number,
  anchoredAt: readonly number[],
  random: () => number,
): Promise<RecordedLog> {
  using folder = makeFolder();
  const anchor = join(folder.path, 'anchor');
  const { file, keyFile: _, ...keys } = await makeVaultFile(folder.path);
  await makePagesSmall(file);
  await using daemon = await startDaemon({
    file,
    readyFile: join(folder.path, 'ready.json'),
    flags: ['--anchor', anchor],
  });
  const release = await holdLog(file);
  const states: Tokens[] = [new Map()];
  const anchors = new Map<number, string>();
  const write = writer(daemon.url, keys.everything, random);
  for (let count = 1; count <= commits; count += 1) {
    states.push(await write(count, states.at(-1) ?? new Map()));
    if (!anchoredAt.includes(count)) continue;
    await sleep(ANCHOR_MS);
    anchors.set(count, readFileSync(anchor, 'utf8'));
  }
  await daemon.stop('SIGKILL');
  const [database, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
  release();
  const layout = readLogLayout(log);
  const heads = await createCutRows(folder.path, { database, log }, 'SELECT max(sequence) FROM audit');
  const ends = [0, ...layout.commitEnds].toReversed().map((end) => ({ end, head: heads.at(end) }));
  const writeEnds = ends
    .filter(({ head }, at) => at < ends.length - 1 && head !== ends[at + 1]?.head)
    .map(({ end }) => end);
  if (writeEnds.length !== commits) throw new Error(`${commits} writes made ${writeEnds.length} commits`);
  return { ...keys, ...layout, writeEnds: writeEnds.toReversed(), database, log, states, anchors };
}

/** Holds an earlier read snapshot, so that the log is not emptied. Resolves to a function that releases it. */
async function holdLog(file: string): Promise<() => void> {
  const { default: Database } = await import('better-sqlite3');
  const connection = new Database(file, { readonly: true });
  connection.exec('BEGIN');
  connection.prepare('SELECT count(*) FROM token').get();
  return () => void connection.close();
}

function writer(url: string, key: string, random: () => number) {
  const perform = createCaller(() => remoteClient({ url }));

  return async (version: number, before: Tokens): Promise<Tokens> => {
    const after = new Map(before);
    const kind = random();
    const id = [...before.keys()][Math.floor(random() * before.size)];
    const content = { data: { version, filling: 'x'.repeat(Math.floor(random() * MAX_FILLING)) } };
    if (version % BATCH_EVERY === 0) {
      // A log cut within this commit must have none of these tokens.
      const ids = Array.from({ length: BATCH }, (_, n) => `cut-${version}-${n}`);
      const body = ids.map((one) => ({ id: one, type: 'token', ...content }));
      expectStatus(201, await perform(key, 'tokenize', { body }));
      for (const one of ids) after.set(one, version);
    } else if (id === undefined || kind < 0.5) {
      const fresh = `cut-${version}`;
      expectStatus(201, await perform(key, 'createToken', { body: { id: fresh, type: 'token', ...content } }));
      after.set(fresh, version);
    } else if (kind < 0.8) {
      expectStatus(200, await perform(key, 'updateToken', { id, body: content }));
      after.set(id, version);
    } else {
      expectStatus(204, await perform(key, 'deleteToken', { id }));
      after.delete(id);
    }
    return after;
  };
}

function expectStatus(expected: number, { status }: { readonly status: number }): void {
  if (status !== expected) throw new Error(`a write was answered ${status}, not ${expected}`);
}

/**
 * SQLite's write-ahead log has a header of 32 bytes, then frames of a 24-byte header and a page:
 * https://www.sqlite.org/fileformat2.html#walformat
 */
const HEADER = 32;
const FRAME_HEADER = 24;

interface LogLayout {
  /** The end of each frame, in bytes from the start of the log. */
  readonly frameEnds: readonly number[];
  /** The ends of frames that end a transaction. The header of such a frame has the size of the database. */
  readonly commitEnds: readonly number[];
}

/** Returns the layout of a log. Throws unless it ends with a complete transaction. */
function readLogLayout(log: Buffer): LogLayout {
  const frame = FRAME_HEADER + log.readUInt32BE(8);
  const salts = log.subarray(16, 24);
  const frameEnds: number[] = [];
  const commitEnds: number[] = [];
  for (let start = HEADER; start + frame <= log.length; start += frame) {
    // Other salts mark frames that are left over from an earlier, longer log.
    if (!log.subarray(start + 8, start + 16).equals(salts)) break;
    frameEnds.push(start + frame);
    if (log.readUInt32BE(start + 4) !== 0) commitEnds.push(start + frame);
  }
  if (frameEnds.at(-1) !== log.length || commitEnds.at(-1) !== log.length) {
    throw new Error('the log does not end with a whole transaction');
  }
  return { frameEnds, commitEnds };
}

interface CutRows {
  /** Returns the result of the query, by default all rows of all tables as one text. `length` must not exceed that of the previous call. */
  at(length: number): string;
}

/** Creates a copy whose log is cut shorter and shorter. Read-only opens leave the log as it is. */
export async function createCutRows(
  folder: string,
  { database, log }: { readonly database: Buffer; readonly log: Buffer },
  query?: string,
): Promise<CutRows> {
  const Database = await loadDriver();
  const file = join(folder, 'rows.db');
  writeFileSync(file, database, { mode: 0o600 });
  writeFileSync(`${file}-wal`, log, { mode: 0o600 });
  const asked = query ?? read(Database, file, queryOfAll);
  return {
    at(length) {
      truncateSync(`${file}-wal`, length);
      return read(Database, file, (connection) => String(connection.prepare<[]>(asked).pluck().get()));
    },
  };
}

function read(Database: Driver, file: string, what: (connection: Connection) => string): string {
  const connection = new Database(file, { readonly: true, fileMustExist: true });
  try {
    return what(connection);
  } finally {
    connection.close();
  }
}

/** Returns a query for one text with every column of every row. */
function queryOfAll(connection: Connection): string {
  const tables = connection.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
  const texts = tables.map((table) => {
    const columns = connection.prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`).pluck().all();
    const row = columns.map((column) => `quote("${column}")`).join(" || ',' || ");
    return `coalesce((SELECT group_concat(${row}, ';') FROM "${table}"), '')`;
  });
  return `SELECT ${texts.join(" || '/' || ")}`;
}

const PAGE_BYTES = 512;

/** Rewrites a closed vault with small pages. Its log is then shorter, with the same content. */
async function makePagesSmall(file: string): Promise<void> {
  const connection = connect(await loadDriver(), file);
  try {
    // SQLite cannot change the page size of a database in WAL mode.
    connection.pragma('journal_mode = DELETE');
    connection.pragma(`page_size = ${PAGE_BYTES}`);
    connection.exec('VACUUM');
    connection.pragma('journal_mode = WAL');
    if (connection.pragma('page_size', { simple: true }) !== PAGE_BYTES) throw new Error('the pages are as they were');
  } finally {
    connection.close();
  }
}
