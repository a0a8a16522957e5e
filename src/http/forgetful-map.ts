/** The minimum number of entries at which a map looks for those that are over. */
const MIN_SIZE = 1_024;

/**
 * Creates a map that forgets entries for which `isOver` returns true. Looks for them only when the number of entries
 * has doubled, so that calls stay quick with any number of keys.
 */
export function createForgetfulMap<Value>(isOver: (value: Value) => boolean) {
  const entries = new Map<string, Value>();
  let nextLook = MIN_SIZE;
  return {
    get: (key: string) => entries.get(key),
    set(key: string, value: Value): void {
      if (entries.size >= nextLook) {
        for (const [other, old] of entries) if (isOver(old)) entries.delete(other);
        nextLook = Math.max(MIN_SIZE, 2 * entries.size);
      }
      entries.set(key, value);
    },
  };
}
