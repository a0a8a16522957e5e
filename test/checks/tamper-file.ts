import { crc32 } from 'node:zlib';
import type { PassphraseCost } from '../../src/keyring/slot.ts';
import { connect } from '../../src/store/sqlite/file/connect.ts';
import { type Connection, loadDriver } from '../../src/store/sqlite/file/driver.ts';

/** Alters or reads a closed file without its key. Resolves to the result of `work`. */
export async function tamperFile<T>(file: string, work: (connection: Connection) => T): Promise<T> {
  const connection = connect(await loadDriver(), file);
  try {
    return work(connection);
  } finally {
    connection.close();
  }
}

/** Resolves to the only column of a query on a file that a vault may have open. */
export async function readColumn(
  file: string,
  sql: string,
  ...values: readonly unknown[]
): Promise<readonly unknown[]> {
  const Database = await loadDriver();
  const connection = new Database(file, { fileMustExist: true, readonly: true });
  try {
    return connection
      .prepare<unknown[]>(sql)
      .pluck()
      .all(...values);
  } finally {
    connection.close();
  }
}

/** Runs SQL on a closed file as if no table declared types. The schema is altered only meanwhile, so it passes each check. */
export function alterUntyped(file: string, sql: string): Promise<void> {
  return tamperFile(file, (connection) => {
    connection.unsafeMode(true);
    connection.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON');
    const select = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'";
    const tables = connection.prepare<[], { name: string; sql: string }>(select).all();
    const set = connection.prepare('UPDATE sqlite_schema SET sql = ? WHERE name = ?');
    const loose = (declared: string) =>
      declared
        .replaceAll(/ NOT NULL|(?<= )(TEXT|BLOB)\b/g, '')
        .replace(/\) STRICT, WITHOUT ROWID$|\) WITHOUT ROWID, STRICT$/, ') WITHOUT ROWID')
        .replace(/\) STRICT$/, ')');
    for (const { name, sql: declared } of tables) set.run(loose(declared), name);
    connection.exec('PRAGMA writable_schema = RESET');
    connection.exec(sql);
    connection.exec('PRAGMA writable_schema = ON');
    for (const { name, sql: declared } of tables) set.run(declared, name);
  });
}

/** Key derivation costs that would exhaust this machine's memory or take hours, and one that is too low. */
export const ABSURD_COSTS: Readonly<Record<string, PassphraseCost>> = {
  '4 TiB of memory': { passes: 3, memory_kib: 0xffff_ffff },
  'a KiB more than 1 GiB': { passes: 3, memory_kib: 1024 * 1024 + 1 },
  '17 passes': { passes: 17, memory_kib: 64 * 1024 },
  'four thousand million passes': { passes: 0xffff_ffff, memory_kib: 64 * 1024 },
  '8 KiB of memory': { passes: 3, memory_kib: 8 },
};

const PASSES_AT = 2;
const MEMORY_AT = 6;
const CHECKSUM_BYTES = 4;

/** Writes the cost into a passphrase slot and corrects its checksum, which needs no key. */
export function setSlotCost(connection: Connection, slot: number, { passes, memory_kib }: PassphraseCost): void {
  const found = connection.prepare<[number], Buffer>('SELECT bytes FROM slot WHERE slot = ?').pluck().get(slot);
  if (found === undefined) throw new Error(`there is no slot ${slot}`);
  const bytes = Buffer.from(found);
  bytes.writeUInt32BE(passes, PASSES_AT);
  bytes.writeUInt32BE(memory_kib, MEMORY_AT);
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -CHECKSUM_BYTES)), bytes.length - CHECKSUM_BYTES);
  connection.prepare<[Buffer, number]>('UPDATE slot SET bytes = ? WHERE slot = ?').run(bytes, slot);
}
