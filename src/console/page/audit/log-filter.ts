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
