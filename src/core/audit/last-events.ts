import { type AuditParts, openEvent, type PlacedEvent } from './walk-audit.ts';

/** How many entries are read at once. */
const PAGE = 500;

/** The last events that `wanted` takes, newest first, at most `limit`. Each is opened; the chain is not checked. */
export async function lastEvents(
  { store, keyring }: AuditParts,
  wanted: (placed: PlacedEvent) => boolean,
  limit: number,
): Promise<readonly PlacedEvent[]> {
  const found: PlacedEvent[] = [];
  let before = (await store.auditHead()).sequence + 1;
  while (before > 1 && found.length < limit) {
    const first = Math.max(1, before - PAGE);
    const entries = await store.readAudit(first - 1, before - first);
    const placed = entries.map((entry) => ({ ...entry, event: openEvent(keyring, entry) }));
    found.push(...placed.reverse().filter(wanted));
    before = first;
  }
  return found.slice(0, limit);
}
