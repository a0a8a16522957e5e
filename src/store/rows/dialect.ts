import type { InspectedRecords } from '../../core/key-holder-ports.ts';
import type { TokenRecord, VaultHeader, WrappedKey } from '../../core/ports.ts';
import type { Fragment, SqlParameter } from './fragment.ts';
import type { RecordTables } from './record-columns.ts';
import type { Row, StepRunner, StoreSteps } from './store-steps.ts';

/**
 * The differences between the stores in their shared statements. Such a statement names a table as `vault.NAME`, and ends
 * a subquery with OFFSET 0 to keep PostgreSQL from merging it into a plan that it makes for empty tables.
 */
export interface Dialect {
  readonly tables: RecordTables;
  /** Returns an id for a lookup; null, which equals no column, unless it is a canonical UUID. */
  uuidKey(id: string): SqlParameter;
  /** Returns the condition that a column has one of these values. Ignores ids that are no canonical UUIDs. */
  among(column: string, type: 'uuid' | 'bigint', values: readonly (string | number)[]): Fragment;
  /** Returns the join with those rows of a table that meet a condition, which an index finds. */
  lookup(table: string, alias: string, condition: Fragment, join?: 'INNER' | 'LEFT'): Fragment;
  /** Returns the hint that names the index for a scan; nothing where the planner decides. */
  by(index: string): Fragment;

  /** The columns of a live token `t`, and the function that decodes them. */
  readonly tokenColumns: string;
  toToken(tenantId: string, row: Row): TokenRecord;
  /** The columns from which `toBlinds` returns all blind indexes of the token `t`. */
  readonly blindColumns: string;
  toBlinds(tenant: number, row: Row): readonly Uint8Array[];
  /** The table and the condition of live tokens, and those of tombstones. */
  readonly liveTokens: readonly [table: string, condition: string];
  readonly tombstones: readonly [table: string, condition: string];
  /**
   * The rows that count tokens, by `tenant`, `type` (0: all), `key_id` and `index_key_id`: the sum of `live`, the latest
   * `last_created_at`, and the sum of `active` in each `month`.
   */
  readonly counters: string;

  /** The query of the largest number of a tenant that was assigned, if an edit may have left none. */
  readonly lastTenant?: string;
  /** Whether a tenant's row names its newest keys, in `data_key_id` and `index_key_id`. */
  readonly hasNewestKeys: boolean;
  /** The statements that remove a tenant's rows. Parameter: its number. */
  readonly removals: readonly string[];
  /** The statements that remove a tenant's key. Parameters: the number of the tenant, the key id. */
  readonly keyRemovals: readonly string[];

  /** Returns the statements that replace wrapped keys of this generation. They return a row for each replaced key. */
  rewrapped(keys: readonly (WrappedKey & { readonly tenant_id: string })[], generation: number): readonly Fragment[];

  /** The row with the time of the last sweep and the clock note. */
  readonly sweep: Readonly<Record<'table' | 'sweptAt' | 'clockNote' | 'isRow', string>>;

  /** Reads the header, which only the keyring can verify. */
  readHeader(): StoreSteps<VaultHeader | undefined>;
  /** Replaces the header. */
  writeHeader(header: VaultHeader): StoreSteps<void>;
}

/** The parts of a store for the methods that all stores share. */
export interface SharedParts extends StepRunner {
  readonly dialect: Dialect;
}

/** Returns the columns of the row `t` of a table, and the function that decodes rows that begin with them. */
export function readerOf<Table extends keyof InspectedRecords>(dialect: Dialect, table: Table) {
  type Decode = (tenantId: string, row: Row) => InspectedRecords[Table];
  if (table === 'token') return { columns: dialect.tokenColumns, decode: dialect.toToken as Decode };
  const { of, read } = dialect.tables[table as Exclude<keyof InspectedRecords, 'token'>];
  return { columns: of('t'), decode: ((tenant_id, row) => read(row, { tenant_id })) as Decode };
}
