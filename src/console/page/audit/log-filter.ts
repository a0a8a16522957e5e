/** The filters of the log, as the address holds them. */
export interface LogFilter {
  readonly entity?: string | undefined;
  readonly actor?: string | undefined;
  readonly operation?: string | undefined;
  /** `1`: only denied calls. */
  readonly denied?: string | undefined;
}

/** The members of the list's query; what is empty is left out. */
export function queryOf({ entity, actor, operation, denied }: LogFilter) {
  return {
    ...(entity && { entity_id: entity }),
    ...(actor && { actor_id: actor }),
    ...(operation && { operation }),
    ...(denied && { denied: true }),
  };
}

export const isFiltered = (filter: LogFilter): boolean => Object.values(filter).some(Boolean);
