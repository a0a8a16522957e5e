import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../src/core/time.ts';
import { connect } from '../../src/store/sqlite/file/connect.ts';
import { loadDriver } from '../../src/store/sqlite/file/driver.ts';
import { resetVault } from '../../src/vault/admin.ts';
import type { KeyHolderOptions } from '../../src/vault/key-holder.ts';
import { createVault, openFileVault, type Vault, type VaultSettings } from '../../src/vault/vault.ts';
import { makeMemoryFolder } from './folder.ts';
import { type Columns, groupRows, spreadRows, type Tables, type VaultRows } from './histories-rows.ts';
import { COUNTERS, TABLES } from './put-back.ts';

export interface HistoryLocation {
  readonly holder: KeyHolderOptions;
  open(settings: VaultSettings): Promise<Vault>;
  /** Removes all tokens of a tenant. Absent if the location cannot. */
  reset?(tenantId: string, clock: Clock): Promise<unknown>;
  read(): Promise<VaultRows>;
  /** Replaces all rows without the key, and counts them. */
  write(rows: VaultRows): Promise<void>;
  close(): Promise<void>;
}

/** Copies of a new vault, whose tenant was created at `start`. */
export interface HistoryLocations {
  readonly start: number;
  readonly tenantId: string;
  readonly management: string;
  create(): Promise<HistoryLocation>;
  remove(): Promise<void>;
}

export const CREDENTIAL = { kind: 'key_file', key: new Uint8Array(32).fill(7) } as const;

const toText = (value: unknown) => (Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value);
const toValue = (value: unknown) =>
  typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : value;
const mapped = (row: Columns, convert: (value: unknown) => unknown): Columns =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, convert(value)]));

/** Creates a vault file in memory. The locations are its copies. */
export async function fileLocations(): Promise<HistoryLocations> {
  const folder = makeMemoryFolder();
  const start = Date.UTC(2026, 2, 1, 9, 30);
  const times = { wall: () => start, running: () => start };
  const first = join(folder.path, 'first.db');
  const { vault, tenant, application } = await createVault({
    file: first,
    credential: CREDENTIAL,
    tenantName: 'first',
    times,
  });
  await vault.close();
  const Database = await loadDriver();

  async function create(): Promise<HistoryLocation> {
    const file = join(folder.path, 'history.db');
    for (const part of ['-wal', '-shm']) rmSync(`${file}${part}`, { force: true });
    copyFileSync(first, file);
    const connection = connect(Database, file);
    connection.exec('PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF');
    const reads = TABLES.map((table) => [table, connection.prepare<[], Columns>(`SELECT * FROM ${table}`)] as const);
    const holder = { file, credential: CREDENTIAL, isOpenHere: true };

    function write(tables: Tables): void {
      for (const table of TABLES) {
        connection.exec(`DELETE FROM ${table}`);
        for (const row of tables[table] ?? []) {
          const names = Object.keys(row);
          const values = Object.values(mapped(row, toValue));
          const marks = names.map(() => '?');
          connection.prepare<unknown[]>(`INSERT OR IGNORE INTO ${table} (${names}) VALUES (${marks})`).run(...values);
        }
      }
      connection.exec(COUNTERS);
    }

    return {
      holder,
      open: (settings) => openFileVault({ file, credential: CREDENTIAL, times, ...settings }),
      async reset(tenantId, clock) {
        await resetVault({ ...holder, clock }, tenantId);
      },
      read: async () =>
        groupRows(
          Object.fromEntries(reads.map(([table, read]) => [table, read.all().map((row) => mapped(row, toText))])),
        ),
      write: async (rows) => connection.transaction(() => write(spreadRows(rows)))(),
      close: async () => void connection.close(),
    };
  }

  const management = application.key ?? '';
  return { start, tenantId: tenant.id, management, create, remove: async () => folder[Symbol.dispose]() };
}
