/** The slots of a new table, and the most that may be filled. */
const SLOTS = 64;
const MAX_FILLED = 0.5;

export type SeenRows = ReturnType<typeof createSeenRows>;

/**
 * Creates a set of sealed rows, of 16 to 32 bytes a row. Compares the last 8 bytes of a row, which are a part of the
 * authentication tag: two of a million rows have the same ones with a probability below 10⁻⁷.
 */
export function createSeenRows() {
  let slots = new BigUint64Array(SLOTS);
  let filled = 0;

  /** Adds a tag, and returns whether it was there. */
  function add(tag: bigint): boolean {
    const mask = slots.length - 1;
    for (let slot = Number(tag & 0x7fff_ffffn) & mask; ; slot = (slot + 1) & mask) {
      if (slots[slot] === tag) return true;
      if (slots[slot] !== 0n) continue;
      slots[slot] = tag;
      filled += 1;
      return false;
    }
  }

  function grow(): void {
    const old = slots;
    slots = new BigUint64Array(old.length * 2);
    filled = 0;
    for (const tag of old) if (tag !== 0n) add(tag);
  }

  return {
    /** Adds a row, and returns whether it was there. */
    has(sealed: Uint8Array): boolean {
      if (filled > slots.length * MAX_FILLED) grow();
      const end = Buffer.alloc(8);
      end.set(sealed.subarray(-8));
      // An empty slot is 0.
      return add(end.readBigUInt64BE() || 1n);
    },
  };
}
