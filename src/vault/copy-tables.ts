import { hash } from 'node:crypto';
import { START } from '../core/audit/audit-link.ts';
import type { AuditHead } from '../core/audit/ports.ts';
import { isBytes } from '../core/bytes.ts';
import { Fault } from '../core/fault.ts';
import type { LastRow, MovedRow, MoveSource, ReadRows, WriteRows } from '../core/move-ports.ts';
import type { Progress } from './keys/rotate-tenant.ts';

export interface Copying {
  /** Called with the numbers of copied tokens and of all tokens. */
  readonly copying?: Progress | undefined;
  /** Called for each table with the numbers of compared rows and of all rows. */
  readonly comparing?: Progress | undefined;
  readonly copied: ReadRows;
  readonly last: (head: AuditHead) => LastRow;
}

/**
 * Copies all tables and appends the last row of the audit. Resolves to the number of rows by table. Rejects with the
 * fault `damaged` if the copy differs.
 */
export async function copyTables(
  { tables, rows, tokens }: Pick<MoveSource, 'tables' | 'rows' | 'tokens'>,
  write: WriteRows,
  { copied, copying = () => undefined, comparing = () => undefined, last }: Copying,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const table of tables) {
    let head: AuditHead = START;
    const written = await digestOf(rows(table), async (batch, count) => {
      await write(table, batch);
      if (table.name === 'token') copying(count, tokens);
      if (table.name === 'audit') head = lastHead(batch) ?? head;
    });
    const found = await digestOf(copied(table), (_, count) => comparing(count, written.rows));
    if (found.rows !== written.rows || found.digest !== written.digest) {
      throw new Fault('damaged', `no copy was made: the rows of ${table.name} differ in the copy`);
    }
    counts.set(table.name, written.rows);
    if (table.name !== 'audit') continue;
    const { sequence, at, link, sealed } = last(head);
    await write(table, [[sequence, at, link, sealed]]);
  }
  return counts;
}

/** Returns the last row in a batch of rows of `audit`. */
function lastHead(batch: readonly MovedRow[]): AuditHead | undefined {
  const [sequence, , link] = batch.at(-1) ?? [];
  return typeof sequence === 'number' && isBytes(link) ? { sequence, link } : undefined;
}

const MODULUS = 1n << 512n;

/**
 * Resolves to the number of rows and their digest: the sum of the BLAKE2b-512 hashes of the rows, modulo 2^512. Stores
 * order texts differently, so the order must not matter. Calls `each` with the number of rows so far.
 */
async function digestOf(
  batches: AsyncIterable<readonly MovedRow[]>,
  each: (batch: readonly MovedRow[], rows: number) => Promise<void> | void,
) {
  let rows = 0;
  let sum = 0n;
  for await (const batch of batches) {
    for (const row of batch) sum += BigInt(`0x${hash('blake2b512', encodeRow(row), 'hex')}`);
    rows += batch.length;
    sum %= MODULUS;
    await each(batch, rows);
  }
  return { rows, digest: sum.toString(16) };
}

/** Encodes each value as its kind, its length in bytes, and its bytes. */
function encodeRow(row: MovedRow): Buffer {
  const parts = row.flatMap((value) => {
    if (value === null) return [Buffer.from('-')];
    const isBlob = isBytes(value);
    const bytes = isBlob ? value : Buffer.from(String(value));
    return [Buffer.from(`${isBlob ? 'b' : typeof value === 'string' ? 't' : 'n'}${bytes.length}:`), bytes];
  });
  return Buffer.concat(parts);
}
