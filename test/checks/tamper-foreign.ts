import { crc32 } from 'node:zlib';
import type { PassphraseCost } from '../../src/keyring/slot-kdf.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';

const TABLES = [
  'tenant',
  'tenant_key',
  'application',
  'application_key',
  'token',
  'token_index',
  'container_set',
  'tombstone',
  'audit',
  'audit_index',
  'header',
  'slot',
];

/** Returns SQL that replaces all rows of the tables with those of the other vault. */
const replaced = (tables: readonly string[]) =>
  tables.map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM other.${table};`).join('\n');

/** SQL that copies rows from a similar vault with other keys, attached as `other`. */
export const FOREIGN_EDITS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(TABLES.map((table) => [`another vault’s ${table} table`, replaced([table])])),
  'another vault’s tokens and their index': replaced(['token', 'token_index', 'container_set', 'tombstone']),
  'another vault’s header and slots': replaced(['header', 'slot']),
  'another vault’s tenants, keys and all their rows': replaced([
    'tenant',
    'tenant_key',
    'application',
    'application_key',
    'token',
    'token_index',
    'container_set',
    'tombstone',
  ]),
  'all of another vault but its header and slots': replaced(TABLES.slice(0, -2)),
  'one row of another vault’s tokens': `
    DELETE FROM token WHERE tenant = 1 AND id = 'token-1';
    INSERT INTO token SELECT * FROM other.token WHERE tenant = 1 AND id = 'token-1'`,
  'one value of another vault’s tokens':
    'UPDATE token SET full = (SELECT full FROM other.token o WHERE o.token = token.token)',
  'one application of another vault': `
    INSERT INTO application SELECT NULL, tenant, id, type, parent_id, parent_key_id, key_version, created_by, created_at,
      modified_by, modified_at, expires_at, revision, key_id, details FROM other.application WHERE type = 1 LIMIT 1`,
  'one API key of another vault': `
    INSERT INTO application_key SELECT NULL, tenant, id, (SELECT id FROM application WHERE type = 1 LIMIT 1), hash, version,
      created_by, created_at, expires_at, revision, key_id, last_used_day, seal FROM other.application_key LIMIT 1`,
  'another vault’s wrapped data key': `
    UPDATE tenant_key SET wrapped = (SELECT wrapped FROM other.tenant_key o WHERE o.tenant = tenant_key.tenant
      AND o.key_id = tenant_key.key_id) WHERE key_id = 1`,
  'one slot of another vault': 'UPDATE slot SET bytes = (SELECT bytes FROM other.slot o WHERE o.slot = slot.slot)',
};

/** Attaches the vault at `path` as `other` and runs the SQL. */
export function copyFrom(connection: Connection, path: string, sql: string): void {
  connection.prepare<[string]>('ATTACH ? AS other').run(path);
  connection.exec(sql);
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
