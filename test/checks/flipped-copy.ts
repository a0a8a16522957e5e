import { closeSync, constants, fstatSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';

/** A byte, and the bits in it to flip. */
export interface Change {
  readonly offset: number;
  readonly mask: number;
}

/** A closed file that can be rewritten with altered bytes. */
export interface FlippedCopy {
  /** Writes the bytes of the original, without changes, to the file. */
  place(): void;
  /** Writes the file with the changes, then resolves to the result of `ask`. `again` rewrites the same altered file. */
  with<T>(changes: readonly Change[], ask: (again: () => void) => Promise<T>): Promise<T>;
}

/** Creates a copy at `file`. The file must be closed during each write. */
export function createFlippedCopy(file: string, bytes: Uint8Array): FlippedCopy {
  const content = Uint8Array.from(bytes);

  function place(): void {
    for (const end of ['-wal', '-shm', '-journal']) rmSync(file + end, { force: true });
    // Do not truncate: some file systems then write to the disk at once.
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

/** Groups the offsets into cells of `size` bytes. */
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

/** Splits the offsets into groups of at most `most`, whose members are as far apart as possible. */
export function farApart(offsets: readonly number[], most: number): readonly (readonly number[])[] {
  const groups: number[][] = Array.from({ length: Math.ceil(offsets.length / most) }, () => []);
  for (const [index, offset] of offsets.entries()) groups[index % groups.length]?.push(offset);
  return groups;
}
