/** The filters of the log, as in the address. */
export interface LogFilter {
  readonly entity?: string | undefined;
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
  /** With `1`, the list contains only denied calls. */
  readonly denied?: string | undefined;
}

/** Returns the query of the list, without empty members. */
export function logQuery({ entity, actor, operation, denied }: LogFilter) {
  return {
    ...(entity && { entity_id: entity }),
    ...(actor && { actor_id: actor }),
    ...(operation && { operation }),
    ...(denied && { denied: true }),
  };
}

export const isFiltered = (filter: LogFilter): boolean => Object.values(filter).some(Boolean);
