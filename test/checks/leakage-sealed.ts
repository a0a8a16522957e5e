import type { Needle } from './leakage-canaries.ts';
import { readColumn } from './tamper-file.ts';

const PIECE = 24;

/**
 * Reads the sealed bytes of some tokens from a copy of the file. Cuts them into pieces, because SQLite may spread a
 * value over several pages. Opening the copy is safe because no vault uses it.
 */
export async function sealedPieces(copy: string, ids: readonly string[]): Promise<readonly Needle[]> {
  const of = `FROM token WHERE id IN (${ids.map(() => '?').join(', ')})`;
  const columns = await readColumn(copy, `SELECT presented ${of} UNION ALL SELECT full ${of}`, ...ids, ...ids);
  const sealed = columns.filter((bytes): bytes is Uint8Array => bytes instanceof Uint8Array);
  if (sealed.length < ids.length * 2) throw new Error('the copy does not have the tokens');
  return sealed.flatMap((bytes, column) =>
    Array.from({ length: Math.floor(bytes.length / PIECE) }, (_, piece): Needle => {
      const cut = bytes.subarray(piece * PIECE, (piece + 1) * PIECE);
      return { canary: `sealed value ${column}`, kind: 'sealed', encoding: `piece ${piece}`, bytes: cut };
    }),
  );
}
