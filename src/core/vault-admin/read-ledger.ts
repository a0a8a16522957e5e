import { type AuditParts, BrokenAudit, START, walkAudit } from '../audit/walk-audit.ts';
import type { AuditHead } from '../audit-ports.ts';
import { createLedger, type Ledger, type LedgerState } from './ledger.ts';

/** What the audit says up to `head`. */
export interface ReadLedger {
  readonly ledger: Ledger;
  readonly head: AuditHead;
}

/**
 * Reads the audit from its first entry up to now. A snapshot that was loaded takes the ledger back to the place that the
 * snapshot was taken at; which places those are is known only at the end, so an audit with such entries is read twice.
 * Throws `BrokenAudit`.
 */
export async function readLedger(parts: AuditParts): Promise<ReadLedger> {
  const places = new Set<number>();
  for (;;) {
    const known = places.size;
    const read = await readOnce(parts, places);
    if (places.size === known) return read;
  }
}

/** Adds to `places` those that it finds named. */
async function readOnce(parts: AuditParts, places: Set<number>): Promise<ReadLedger> {
  const states = new Map<number, LedgerState>();
  const ledger = createLedger(states);
  let head = START;
  for await (const placed of walkAudit(parts)) {
    const { event, sequence } = placed;
    if (event.action === 'loadSnapshot') {
      const place = event.revision ?? 0;
      if (place < 1 || place >= sequence) throw new BrokenAudit(sequence, 'names a state that there never was');
      places.add(place);
    }
    ledger.apply(event, placed.at);
    if (places.has(sequence)) states.set(sequence, ledger.freeze());
    head = placed;
  }
  return { ledger, head };
}
