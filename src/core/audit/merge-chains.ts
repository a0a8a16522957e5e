import type { Instant } from '../ports.ts';
import type { AuditEntry } from './ports.ts';

/** The order of rows of several chains: by time, then by chain. */
type MergeKey = Pick<AuditEntry, 'chain' | 'at'>;

interface Source<Row> {
  key: MergeKey;
  row: Row | undefined;
  readonly rows: AsyncIterator<Row>;
}

/** Compares the times of two rows, then their chains. Returns a negative number when `a` is earlier. */
export function compareKeys(a: MergeKey, b: MergeKey): number {
  return a.at - b.at || Number(a.chain) - Number(b.chain);
}

/**
 * Merges the rows of chains: with `order` 1 the earliest row is first, with -1 the latest. Each chain keeps its own
 * order, even where its times are not in order.
 */
export function mergeChains<Row extends MergeKey>(order: 1 | -1) {
  const sources = new Set<Source<Row>>();

  /** Reads the next row of a source, or removes the source at its end. */
  async function advance(source: Source<Row>): Promise<void> {
    const { value, done } = await source.rows.next();
    source.row = done ? undefined : value;
    if (source.row === undefined) sources.delete(source);
    else source.key = source.row;
  }

  return {
    /** Adds a chain. Its first row is read when the merge has reached the time `at`. */
    add(chain: string, at: Instant, rows: AsyncIterator<Row>): void {
      sources.add({ key: { chain, at }, row: undefined, rows });
    },

    /** Resolves to the next row, or to undefined at the end. */
    async next(): Promise<Row | undefined> {
      for (;;) {
        let first: Source<Row> | undefined;
        for (const source of sources) {
          if (first === undefined || order * compareKeys(source.key, first.key) < 0) first = source;
        }
        if (first?.row === undefined) {
          if (first === undefined) return undefined;
          await advance(first);
          continue;
        }
        const { row } = first;
        first.row = undefined;
        // Mark the source as unread. Unread sources are first among equals, so the next call reads their next row
        // first.
        first.key = { chain: row.chain, at: order * Number.NEGATIVE_INFINITY };
        return row;
      }
    },
  };
}
