import type { VaultClient } from '../../../client/create-client.ts';

type LogPage = Awaited<ReturnType<VaultClient['listLogs']>>;

export type LogRow = LogPage['data'][number];

/** A call with its entries, one for each record. */
export interface LogEvent extends LogRow {
  /** The part `SEQUENCE.N` of the ids of its entries. */
  readonly position: string;
  readonly entities: readonly string[];
}

/** Returns the `SEQUENCE.N` of an entry's id, which all entries of a call share. */
const positionOf = (id: string): string => id.split('.', 2).join('.');

/** Groups entries by call and keeps their order. */
export function eventsOf(entries: readonly LogRow[]): readonly LogEvent[] {
  const events = new Map<string, LogEvent & { readonly entities: string[] }>();
  for (const entry of entries) {
    const position = positionOf(entry.id);
    const event = events.get(position) ?? { ...entry, position, entities: [] };
    if (entry.entity_id !== undefined) event.entities.push(entry.entity_id);
    events.set(position, event);
  }
  return [...events.values()];
}

/** The filters of the log, as in the address. */
export interface LogFilter {
  readonly entity?: string | undefined;
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
  /** With `1`, the list contains only denied calls. */
  readonly denied?: string | undefined;
  /** The times of the earliest entry, and after the latest one. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Returns the query of the list, without empty members. */
export function logQuery({ entity, actor, operation, denied, since, until }: LogFilter) {
  return {
    ...(entity && { entity_id: entity }),
    ...(actor && { actor_id: actor }),
    ...(operation && { operation }),
    ...(denied && { denied: true }),
    ...(since && { start_date: since }),
    ...(until && { end_date: until }),
  };
}

export const isFiltered = (filter: LogFilter): boolean => Object.values(filter).some(Boolean);
