import { hash } from 'node:crypto';
import type { AuditEntry, AuditHead } from './ports.ts';

/** The length of a link, in bytes. */
export const LINK_BYTES = 16;

/** The link before the first row. */
export const NO_LINK: Uint8Array = new Uint8Array(LINK_BYTES);

/** The link of a row that is not the last one of its commit. */
export const UNLINKED: Uint8Array = new Uint8Array();

/** The position before the first row. */
export const START: AuditHead = { sequence: 0, link: NO_LINK };

/** A row, as its link includes it. */
type LinkedRow = Omit<AuditEntry, 'link'>;

/** The lengths of a row's numbers before its sealed bytes: the sequence, the time, the length of the sealed bytes. */
const [SEQUENCE, TIME, LENGTH] = [8, 8, 4];

/**
 * Returns the link of the last of these rows, which follow a row with the link `previous`: the first 16 bytes of
 *
 *     SHA-256( previous | for each row: sequence u64 | time u64 | length u32 | sealed )
 *
 * with the highest byte of each number first. Needs no key, so that a database can link the rows of a commit while it
 * holds its lock. The witnesses in sealed rows make the order binding.
 */
export function linkOf(previous: Uint8Array, rows: readonly LinkedRow[]): Uint8Array {
  const fixed = SEQUENCE + TIME + LENGTH;
  const size = rows.reduce((sum, { sealed }) => sum + fixed + sealed.length, previous.length);
  const bytes = Buffer.allocUnsafe(size);
  let at = previous.length;
  bytes.set(previous);
  for (const { sequence, at: time, sealed } of rows) {
    bytes.writeBigUInt64BE(BigInt(sequence), at);
    bytes.writeBigInt64BE(BigInt(time), at + SEQUENCE);
    bytes.writeUInt32BE(sealed.length, at + SEQUENCE + TIME);
    bytes.set(sealed, at + fixed);
    at += fixed + sealed.length;
  }
  return new Uint8Array(hash('sha256', bytes, 'buffer').subarray(0, LINK_BYTES));
}

/** Returns `<sequence>:<link, base64url>`. */
export function encodePosition({ sequence, link }: AuditHead): string {
  return `${sequence}:${Buffer.from(link).toString('base64url')}`;
}
