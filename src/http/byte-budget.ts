export type ByteBudget = ReturnType<typeof createByteBudget>;

/** Creates a limit on the bytes of one kind that a daemon holds in memory at a time. */
export function createByteBudget(limit: number) {
  let held = 0;
  return {
    /** Reserves `bytes`. Returns false, and reserves nothing, if that would exceed the limit. */
    take(bytes: number): boolean {
      if (held + bytes > limit) return false;
      held += bytes;
      return true;
    },
    giveBack(bytes: number): void {
      held -= bytes;
    },
  };
}
