import type { SlotRecord, VaultHeader } from '../../../core/ports.ts';
import type { Connection } from './driver.ts';

interface HeaderRow extends Omit<VaultHeader, 'slots' | 'carried'> {
  readonly carried: Buffer | null;
}

/**
 * Returns the file's header, which only the keyring verifies. Returns undefined if the header is missing or malformed.
 */
export function readHeader(connection: Connection): VaultHeader | undefined {
  const row = connection
    .prepare<[], HeaderRow>('SELECT vault_id, format, created_at, generation, carried, mac FROM header')
    .get();
  if (row === undefined) return undefined;
  const slots = connection.prepare<[], SlotRecord>('SELECT slot, bytes FROM slot ORDER BY slot').all();
  const blobs: readonly unknown[] = [row.mac, row.carried ?? row.mac, ...slots.map(({ bytes }) => bytes)];
  if (!blobs.every((blob) => Buffer.isBuffer(blob))) return undefined;
  return { ...row, carried: row.carried ?? undefined, slots };
}

/** Replaces the header. Call it inside a transaction. */
export function writeHeader(connection: Connection, header: VaultHeader): void {
  connection.exec('DELETE FROM slot; DELETE FROM header');
  connection
    .prepare('INSERT INTO header VALUES (1, @vault_id, @format, @created_at, @generation, @carried, @mac)')
    .run({ ...header, carried: header.carried ?? null });
  const insert = connection.prepare<[number, Uint8Array]>('INSERT INTO slot (slot, bytes) VALUES (?, ?)');
  for (const { slot, bytes } of header.slots) insert.run(slot, bytes);
}
