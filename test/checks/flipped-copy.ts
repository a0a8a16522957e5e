import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';

/** Bits of a byte that are turned over. */
export interface Change {
  readonly offset: number;
  readonly mask: number;
}

/** A closed file that is written anew, altered in a few places, as often as it is asked for. */
export interface FlippedCopy {
  /** As it was given. */
  place(): void;
  /** Writes it with these changes, and resolves to what `ask` makes of it. `again` writes it once more meanwhile. */
  with<T>(changes: readonly Change[], ask: (again: () => void) => Promise<T>): Promise<T>;
}

/** Nobody has `file` open when it is written. */
export function createFlippedCopy(file: string, bytes: Uint8Array): FlippedCopy {
  const content = Uint8Array.from(bytes);

  function place(): void {
    for (const end of ['-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
    // Not truncated: some file systems then write to the disk at once.
    const handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      writeSync(handle, content, 0, content.length, 0);
      if (fstatSync(handle).size !== content.length) ftruncateSync(handle, content.length);
    } finally {
      closeSync(handle);
    }
  }

  function turn(changes: readonly Change[]): void {
    for (const { offset, mask } of changes) content[offset] = (content[offset] ?? 0) ^ mask;
  }

  return {
    place,
    async with(changes, ask) {
      turn(changes);
      try {
        place();
        return await ask(place);
      } finally {
        turn(changes);
      }
    },
  };
}

/** Offsets that stand side by side in cells of `size` bytes. */
export function cellsOf(offsets: Uint32Array, size: number): readonly (readonly number[])[] {
  const cells = new Map<number, number[]>();
  for (const offset of offsets) {
    const cell = Math.floor(offset / size);
    const found = cells.get(cell);
    if (found) found.push(offset);
    else cells.set(cell, [offset]);
  }
  return [...cells.values()];
}

/** Groups of at most `most`, the members of each as far from one another as they can be. */
export function farApart(offsets: readonly number[], most: number): readonly (readonly number[])[] {
  const groups: number[][] = Array.from({ length: Math.ceil(offsets.length / most) }, () => []);
  for (const [index, offset] of offsets.entries()) groups[index % groups.length]?.push(offset);
  return groups;
}
