import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { FaultCode } from '../../src/contract/faults.ts';
import type { Credential } from '../../src/keyring/credential.ts';
import type { VaultLocation } from '../../src/vault/location.ts';
import { createVault, type Vault } from '../../src/vault/vault.ts';
import { type KeptTable, keepRows, putBack } from './put-back.ts';
import { tamperFile } from './tamper-file.ts';

/** The locations of the vaults of a check, in files or databases. A location is known by its name. */
export interface TamperLocations {
  /** Returns the name of a location: the path of a file in the folder, or the name of a database. */
  nameIn(folder: string, title: string): string;
  at(name: string): VaultLocation;
  /** The faults that report a location without a sound vault, besides those of every vault. */
  readonly refusals: readonly FaultCode[];
  readonly problems: readonly string[];
  flags(name: string): readonly string[];
  /** Creates a vault and opens it. Resolves to it and to its first API key. */
  create(
    name: string,
    options: { readonly credential: Credential; readonly tenantName: string },
  ): Promise<{ readonly vault: Vault; readonly key: string }>;
  /** Copies a closed vault, over the vault at `to`, if any. */
  copy(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Runs SQL on a closed vault, without its key. `other` names another vault, whose tables the SQL calls `other`. */
  alter(name: string, sql: string, other?: string): Promise<void>;
  query(name: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Keeps the rows of a closed vault, for `putBack` in this location or a later copy of it. */
  keep(name: string): Promise<readonly KeptTable[]>;
  /** Restores older rows of these tables and their counters. Default: of all tables. */
  putBack(name: string, kept: readonly KeptTable[], tables?: readonly string[]): Promise<void>;
}

const PARTS = ['', '-wal', '-shm'];

export const FILE_LOCATIONS: TamperLocations = {
  nameIn: (folder, title) => join(folder, `${title}.db`),
  at: (file) => ({ file }),
  refusals: [],
  problems: ['integrity_failure'],
  flags: (file) => ['--file', file],
  async create(file, options) {
    const { vault, application } = await createVault({ file, ...options });
    return { vault, key: application.key ?? '' };
  },
  async copy(from, to) {
    await FILE_LOCATIONS.remove(to);
    copyFileSync(from, to);
  },
  async remove(file) {
    for (const part of PARTS) rmSync(`${file}${part}`, { force: true });
  },
  alter: (file, sql, other) =>
    tamperFile(file, (connection) => {
      connection.exec('PRAGMA foreign_keys = OFF');
      if (other !== undefined) connection.prepare<[string]>('ATTACH ? AS other').run(other);
      connection.exec(sql);
    }),
  query: (file, sql) => tamperFile(file, (connection) => connection.prepare<[], Record<string, unknown>>(sql).all()),
  keep: keepRows,
  putBack,
};
