import type { VaultHeader } from '../../core/ports.ts';
import { Problem } from '../../core/problem.ts';
import { bytes, columns, instant, number, optional, text } from '../rows/columns.ts';
import { raw, type SqlParameter } from '../rows/fragment.ts';
import { askRows, type Row, type StoreSteps } from '../rows/store-steps.ts';
import { storedBytes, storedNumber } from '../rows/stored-value.ts';
import type { Run } from './connections.ts';
import { perform } from './perform.ts';
import { listsOf, storedList } from './sql-client.ts';

const HEADER = columns<Omit<VaultHeader, 'slots'>>({
  vault_id: text,
  format: number,
  created_at: instant,
  generation: number,
  carried: optional(bytes),
  mac: bytes,
});
const SLOTS = ['slot_numbers', 'slot_bytes'];

const READ = `SELECT ${[...HEADER.names, ...SLOTS]} FROM vault.header`;
const INSERT = HEADER.insertInto('vault.header', ...SLOTS);
const REPLACE = `UPDATE vault.header SET ${HEADER.assigned(...SLOTS)}`;

function toHeader(row: Row): VaultHeader {
  const [numbers = [], all = []] = row.slice(HEADER.names.length).map(storedList);
  const slots = numbers.map((slot, at) => ({ slot: storedNumber(slot), bytes: storedBytes(all[at]) }));
  return HEADER.read(row, { slots: slots.sort((a, b) => a.slot - b.slot) });
}

function toValues(header: VaultHeader): readonly SqlParameter[] {
  return [...HEADER.values(header), ...listsOf(header.slots, 'slot', 'bytes')];
}

export function* readStoredHeader(): StoreSteps<VaultHeader | undefined> {
  const [row] = yield* askRows({ name: 'header', ...raw(READ) });
  return row && toHeader(row);
}

export function* insertStoredHeader(header: VaultHeader): StoreSteps<void> {
  yield [{ sql: INSERT, params: toValues(header) }];
}

export function* replaceStoredHeader(header: VaultHeader): StoreSteps<void> {
  yield [{ sql: REPLACE, params: toValues(header) }];
}

/** Resolves to the stored header. Only the keyring can verify it. */
export async function readHeader(run: Run): Promise<VaultHeader> {
  const header = await perform(run, readStoredHeader());
  if (header === undefined) throw new Problem('integrity_failure');
  return header;
}
