import { SCHEMA } from './schema.ts';

/** "VLTS": the `application_id` of a snapshot, so that it is never opened as a vault. */
export const SNAPSHOT_APPLICATION_ID = 0x564c5453;

/**
 * The tables that a snapshot copies: the records, indexes and counters of each tenant. The rows are those of the vault.
 */
export const SNAPSHOT_TABLES = [
  'tenant',
  'application',
  'token',
  'token_index',
  'container_set',
  'tombstone',
  'counter',
] as const;

/**
 * The tables of a snapshot: those of the vault without their indexes, which a load does not need, and one row of facts.
 * It has no header, no slot and no tenant key: only the vault's current keys open a snapshot. It has no audit either,
 * since the audit never goes back. The facts name the last audit entry at the time of saving.
 */
export const SNAPSHOT_SCHEMA: readonly string[] = [
  ...SCHEMA.filter((statement) => SNAPSHOT_TABLES.some((table) => statement.startsWith(`CREATE TABLE ${table} (`))),
  `CREATE TABLE facts (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  vault_id TEXT NOT NULL,
  name TEXT NOT NULL,
  saved_at INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL
) STRICT`,
];
