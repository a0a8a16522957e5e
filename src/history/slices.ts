import type { EndedRecord, RecordChange } from '../core/audit/ports.ts';
import { addDigests, changesOf, digestOf, removesTenant } from '../core/audit/record-digest.ts';
import type { PositionedEvent } from '../core/audit/walk-audit.ts';
import type { Keyring } from '../core/ports.ts';
import type { LogParts } from './read-log.ts';

/** The tables that are read in slices, because they may have millions of rows. */
const SLICED = ['token', 'tombstone'] as const;
type SlicedTable = (typeof SLICED)[number];

/** The number of rows in a slice. */
const SLICE_ROWS = 500;

/** Consecutive rows of a table, read in one snapshot. */
interface Slice {
  /** The last id. Absent in the last slice, which has all later ids. */
  readonly to?: Buffer | undefined;
  /** The last row of the audit in the snapshot. */
  readonly head: number;
  sum: bigint;
}

type SliceParts = Pick<LogParts, 'store' | 'yieldToLoop' | 'sliceRows'>;

/** The rows of a tenant's tables, in slices. Later entries bring each slice up to the end of the audit. */
export function createSlices(keyring: Pick<Keyring, 'recordHash'>) {
  const tenants = new Map<string, Record<SlicedTable, Slice[]>>();

  function sliceOf({ tenant_id, table, id }: RecordChange): Slice | undefined {
    if (table !== 'token' && table !== 'tombstone') return undefined;
    const slices = tenants.get(tenant_id)?.[table] ?? [];
    const wanted = Buffer.from(id);
    let [low, high] = [0, slices.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { to } = slices[middle] as Slice;
      if (to !== undefined && Buffer.compare(to, wanted) < 0) low = middle + 1;
      else high = middle;
    }
    return slices[low];
  }

  return {
    /** Reads all slices of a tenant. `each` gets their rows. */
    async read(
      { store, yieldToLoop = async () => undefined, sliceRows = SLICE_ROWS }: SliceParts,
      tenantId: string,
      each: (table: SlicedTable, row: EndedRecord) => void = () => undefined,
    ): Promise<void> {
      const slices: Record<SlicedTable, Slice[]> = { token: [], tombstone: [] };
      tenants.set(tenantId, slices);
      for (const table of SLICED) {
        for (let after: string | undefined = ''; after !== undefined; ) {
          const { head, rows } = await store.revisionsOf(table, tenantId, after, sliceRows);
          let sum = 0n;
          for (const row of rows) {
            const record = { table, tenant_id: tenantId, id: row.id, from: 0, to: row.revision };
            sum = addDigests(sum, digestOf(keyring, record));
            each(table, row);
          }
          after = rows.length < sliceRows ? undefined : rows.at(-1)?.id;
          slices[table].push({ head, sum, to: after === undefined ? undefined : Buffer.from(after) });
          await yieldToLoop();
        }
      }
    },

    /** Applies an entry to the slices that were read before it was written. */
    apply({ event, sequence }: Pick<PositionedEvent, 'event' | 'sequence'>): void {
      const { tenant_id = '' } = event;
      if (event.action === 'resetTokens' || removesTenant(event)) {
        const all = Object.values(tenants.get(tenant_id) ?? {}).flat();
        for (const slice of all) if (sequence > slice.head) slice.sum = 0n;
        return;
      }
      for (const change of changesOf(event)) {
        const slice = sliceOf(change);
        if (slice !== undefined && sequence > slice.head) slice.sum = addDigests(slice.sum, digestOf(keyring, change));
      }
    },

    /** Returns the last row of the audit in the snapshot of a record; undefined if its tenant was not read. */
    headOf: (record: RecordChange): number | undefined => sliceOf(record)?.head,

    /** Returns the sum of the tenant's rows at the last applied entry. */
    sumOf(tenantId: string): bigint {
      const slices = tenants.get(tenantId);
      if (slices === undefined) return 0n;
      return [...slices.token, ...slices.tombstone].reduce((sum, slice) => addDigests(sum, slice.sum), 0n);
    },
  };
}
