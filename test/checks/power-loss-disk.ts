import type { DiskEvent, DiskFile } from './power-loss-trace.ts';

type Change = Exclude<DiskEvent, { readonly kind: 'sync' | 'answer' }>;

/**
 * The unsynced changes that survive a power failure: none, all, any subset (a disk writes in any order), or any subset
 * of their sectors.
 */
export const LOSSES = ['dropped', 'kept', 'shuffled', 'torn_512', 'torn_4096'] as const;
export type Loss = (typeof LOSSES)[number];

const SECTORS: Readonly<Partial<Record<Loss, number>>> = { torn_512: 512, torn_4096: 4096 };

/** The bytes of each file. Undefined means that the file does not exist. */
export type Image = Readonly<Record<DiskFile, Buffer | undefined>>;

const FILES = ['database', 'log'] as const satisfies readonly DiskFile[];

interface State {
  /** Whether the folder contains the file. */
  there: boolean;
  bytes: Buffer;
}

/**
 * Creates a disk with a synced database and no log. It replays the changes of a process and can lose power at any
 * moment.
 */
export function createCrashDisk(database: Buffer) {
  const durable: Record<DiskFile, State> = {
    database: { there: true, bytes: database },
    log: { there: false, bytes: Buffer.alloc(0) },
  };
  let pending: readonly Change[] = [];

  return {
    apply(event: DiskEvent): void {
      if (event.kind === 'answer') return;
      if (event.kind !== 'sync') {
        pending = [...pending, event];
        return;
      }
      const { file } = event;
      // Only a sync of the folder makes a file name durable.
      const done = pending.filter((change) => (isName(change) ? file === 'folder' : change.file === file));
      for (const name of FILES) {
        const own = done.filter((change) => change.file === name);
        if (own.length > 0) durable[name] = changed(durable[name], own);
      }
      pending = pending.filter((change) => !done.includes(change));
    },

    /** Returns the content of the disk if the power fails now. Does not change the disk. */
    fail(loss: Loss, random: () => number): Image {
      const kept = survivors(pending, loss, random);
      const content = (name: DiskFile) => {
        const own = kept.filter((change) => change.file === name);
        const { there, bytes } = changed(durable[name], own);
        return there ? bytes : undefined;
      };
      return { database: content('database'), log: content('log') };
    },

    /** Returns the number of changes that are not synced. */
    pending: () => pending.length,
  };
}

const isName = ({ kind }: Change) => kind === 'create' || kind === 'unlink';

/** Picks the changes that survive. Keeps their order, so that later changes overwrite earlier ones. */
function survivors(pending: readonly Change[], loss: Loss, random: () => number): readonly Change[] {
  if (loss === 'dropped') return [];
  if (loss === 'kept') return pending;
  const sector = SECTORS[loss];
  const units = sector === undefined ? pending : pending.flatMap((change) => inSectors(change, sector));
  return units.filter(() => random() < 0.5);
}

function inSectors(change: Change, sector: number): readonly Change[] {
  if (change.kind !== 'write') return [change];
  const parts: Change[] = [];
  for (let from = 0; from < change.bytes.length; ) {
    const offset = change.offset + from;
    const length = Math.min(sector - (offset % sector), change.bytes.length - from);
    parts.push({ ...change, offset, bytes: change.bytes.subarray(from, from + length) });
    from += length;
  }
  return parts;
}

/** Returns the state after the changes. Does not change the bytes of the old state. */
function changed(state: State, changes: readonly Change[]): State {
  let { there } = state;
  let bytes: Buffer = Buffer.from(state.bytes);
  for (const change of changes) {
    if (change.kind === 'write') {
      bytes = resized(bytes, Math.max(bytes.length, change.offset + change.bytes.length));
      change.bytes.copy(bytes, change.offset);
    } else if (change.kind === 'truncate') {
      bytes = resized(bytes, change.size);
    } else {
      there = change.kind === 'create';
    }
  }
  return { there, bytes };
}

/** Returns the bytes cut to the size, or extended with zeros. */
function resized(bytes: Buffer, size: number): Buffer {
  return size <= bytes.length ? bytes.subarray(0, size) : Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
}
