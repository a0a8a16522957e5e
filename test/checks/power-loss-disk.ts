import type { DiskEvent, DiskFile } from './power-loss-trace.ts';

type Change = Exclude<DiskEvent, { readonly kind: 'sync' | 'answer' }>;

/**
 * What a disk may have done with the changes that were not synced when the power failed: none reached it, all did, any of
 * them did (a disk writes in any order), or any sectors of them did.
 */
export const LOSSES = ['dropped', 'kept', 'shuffled', 'torn_512', 'torn_4096'] as const;
export type Loss = (typeof LOSSES)[number];

const SECTORS: Readonly<Partial<Record<Loss, number>>> = { torn_512: 512, torn_4096: 4096 };

/** The bytes of each file; undefined: there is none. */
export type Image = Readonly<Record<DiskFile, Buffer | undefined>>;

const FILES = ['database', 'log'] as const satisfies readonly DiskFile[];

interface State {
  /** Whether its folder names it. */
  there: boolean;
  bytes: Buffer;
}

/** A disk that follows what a process does, and at any moment can lose its power. */
export interface CrashDisk {
  apply(event: DiskEvent): void;
  /** What is on the disk when it fails now. Changes nothing. */
  fail(loss: Loss, random: () => number): Image;
  /** Changes that no sync has made durable. */
  pending(): number;
}

/** Starts with a database and no log, both on the disk. */
export function createCrashDisk(database: Buffer): CrashDisk {
  const durable: Record<DiskFile, State> = {
    database: { there: true, bytes: database },
    log: { there: false, bytes: Buffer.alloc(0) },
  };
  let pending: readonly Change[] = [];

  return {
    apply(event) {
      if (event.kind === 'answer') return;
      if (event.kind !== 'sync') {
        pending = [...pending, event];
        return;
      }
      const { file } = event;
      // A name is its folder's: syncing the file does not keep it.
      const done = pending.filter((change) => (isName(change) ? file === 'folder' : change.file === file));
      for (const name of FILES) {
        const own = done.filter((change) => change.file === name);
        if (own.length > 0) durable[name] = changed(durable[name], own);
      }
      pending = pending.filter((change) => !done.includes(change));
    },

    fail(loss, random) {
      const kept = survivors(pending, loss, random);
      const content = (name: DiskFile) => {
        const own = kept.filter((change) => change.file === name);
        const { there, bytes } = changed(durable[name], own);
        return there ? bytes : undefined;
      };
      return { database: content('database'), log: content('log') };
    },

    pending: () => pending.length,
  };
}

const isName = ({ kind }: Change) => kind === 'create' || kind === 'unlink';

/** In their order: where two overlap, the cache of the system had the later one only. */
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

/** A new state; the bytes of the old one stay as they are. */
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

/** What lies past the old end is zeros. */
function resized(bytes: Buffer, size: number): Buffer {
  return size <= bytes.length ? bytes.subarray(0, size) : Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]);
}
