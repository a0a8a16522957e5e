import type { VaultClient } from '../../../client/create-client.ts';

type LogPage = Awaited<ReturnType<VaultClient['listLogs']>>;

export type LogEntry = LogPage['data'][number];

/** A call with its entries, one for each record. */
export interface LogEvent extends LogEntry {
  /** The part `SEQUENCE.N` of the ids of its entries. */
  readonly place: string;
  readonly entities: readonly string[];
}

/** Returns the `SEQUENCE.N` of an entry's id, which all entries of a call share. */
const placeOf = (id: string): string => id.split('.', 2).join('.');

/** Groups entries by call and keeps their order. */
export function eventsOf(entries: readonly LogEntry[]): readonly LogEvent[] {
  const events = new Map<string, LogEvent & { readonly entities: string[] }>();
  for (const entry of entries) {
    const place = placeOf(entry.id);
    const event = events.get(place) ?? { ...entry, place, entities: [] };
    if (entry.entity_id !== undefined) event.entities.push(entry.entity_id);
    events.set(place, event);
  }
  return [...events.values()];
}
