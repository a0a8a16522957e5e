import { crc32 } from 'node:zlib';
import type { PassphraseCost } from '../../src/keyring/slot.ts';
import type { Connection } from '../../src/store/sqlite/file/driver.ts';

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
