/** A limit on the bytes of one kind that a daemon holds in memory at a time. */
export interface ByteBudget {
  /** Reserves `bytes`. Returns false, and reserves nothing, if that would exceed the limit. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

export function createByteBudget(limit: number): ByteBudget {
  let held = 0;
  return {
    take(bytes) {
      if (held + bytes > limit) return false;
      held += bytes;
      return true;
    },
    giveBack(bytes) {
      held -= bytes;
    },
  };
}
