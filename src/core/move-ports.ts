import type { AuditReads } from './audit/ports.ts';
import type { Instant, Store, VaultHeader } from './ports.ts';

/** A value of a moved row. UUIDs and blind indexes are bytes. */
export type MovedValue = string | number | Uint8Array | null;
export type MovedRow = readonly MovedValue[];

/** The type of a column in the form that all stores share. */
export type ColumnType = 'integer' | 'text' | 'bytes' | 'uuid';

/** A table in the form that all stores share. Only some of a store's own tables have this form. */
export interface MovedTable {
  readonly name: string;
  /** The columns that identify a row. Rows are read in their order. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
}

/** Yields the rows of a table in batches. Rejects with `integrity_failure` for damaged rows. */
export type ReadRows = (table: MovedTable) => AsyncIterable<readonly MovedRow[]>;

/** Appends rows to an empty table. Also creates their index entries. */
export type WriteRows = (table: MovedTable, rows: readonly MovedRow[]) => Promise<void>;

/** The row of the audit with which a move ends, in the source and in the target. */
export interface LastRow {
  readonly sequence: number;
  readonly at: Instant;
  readonly sealed: Uint8Array;
  readonly link: Uint8Array;
}

/** The state of a location, as a move finds it. `sealed` is the last row of the audit. */
export type FoundLocation =
  | { readonly state: 'empty' }
  /** A vault that this code serves. */
  | { readonly state: 'vault'; readonly vaultId: string }
  /** The source of a move, which no process serves any more. */
  | { readonly state: 'moved_away'; readonly vaultId: string; readonly sealed: Uint8Array }
  /** The complete copy of an unfinished move, which no process serves yet. */
  | { readonly state: 'copied'; readonly vaultId: string; readonly sealed: Uint8Array };

/** A vault that is moved or copied. Its rows do not change while it is open. */
export interface MoveSource extends AuditReads {
  readonly header: VaultHeader;
  /** The number of live tokens. */
  readonly tokens: number;
  readonly tables: readonly MovedTable[];
  readonly rows: ReadRows;
  /** The time of the machine or the database. */
  readonly now: Instant;
  /** Appends the last row of the audit and ends the service of the vault, in one step. */
  leave(last: LastRow): Promise<void>;
  /** Lets other processes change the vault again, unless it was left. */
  close(): Promise<void>;
}

export interface MakeCopy {
  /** Writes all rows, and may read them again. */
  fill(write: WriteRows, rows: ReadRows): Promise<void>;
  check(store: Store): Promise<void>;
}

/** The location of a vault: a file or a database. Rejects with the faults of opening a vault. */
export interface MoveLocation {
  /** The path, or the URL without its parameters. */
  readonly shown: string;
  /** Resolves to what is in the location. A file that was left does not count as the target of another move. */
  find(role: 'source' | 'target'): Promise<FoundLocation>;
  /** Resolves to whether the audit of the vault has a row with these sealed bytes. */
  hasRow(sealed: Uint8Array): Promise<boolean>;
  /** Opens the vault. With `keep`, other processes may change it, and the rows are those of one moment. */
  openSource(keep: boolean): Promise<MoveSource>;
  /** Makes a complete copy that no process serves yet. Leaves nothing behind when it fails. */
  makeCopy(header: VaultHeader, make: MakeCopy): Promise<void>;
  /** Removes the copy of an unfinished move. */
  removeCopy(): Promise<void>;
  /** Makes the copy the vault of this location. */
  finishCopy(): Promise<void>;
  /** Makes the source of an unfinished move serve again. */
  takeBack(): Promise<void>;
}
