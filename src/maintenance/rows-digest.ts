import { hash } from 'node:crypto';
import type { MovedRow } from '../core/move-ports.ts';

/** The number of rows and their digest, which does not depend on their order. */
export interface RowsDigest {
  readonly rows: number;
  readonly digest: string;
}

const MODULUS = 1n << 512n;

/**
 * Returns a digest of rows: the sum of the BLAKE2b-512 hashes of the rows, modulo 2^512. Stores order texts and merged
 * chains differently, so the order must not matter.
 */
export function rowsDigest() {
  let rows = 0;
  let sum = 0n;
  return {
    add(batch: readonly MovedRow[]): void {
      for (const row of batch) sum += BigInt(`0x${hash('blake2b512', encodeRow(row), 'hex')}`);
      rows += batch.length;
      sum %= MODULUS;
    },
    digest: (): RowsDigest => ({ rows, digest: sum.toString(16) }),
  };
}

/** Encodes each value as its kind, its length in bytes, and its bytes. */
function encodeRow(row: MovedRow): Buffer {
  const parts = row.flatMap((value) => {
    if (value === null) return [Buffer.from('-')];
    const isBytes = value instanceof Uint8Array;
    const bytes = isBytes ? value : Buffer.from(String(value));
    return [Buffer.from(`${isBytes ? 'b' : typeof value === 'string' ? 't' : 'n'}${bytes.length}:`), bytes];
  });
  return Buffer.concat(parts);
}
