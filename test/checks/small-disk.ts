import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder for a vault. Its free space can be taken away and given back while a process writes there. */
export interface SmallDisk {
  readonly way: 'tmpfs' | 'file_size';
  readonly folder: string;
  leave(bytes: number, pid: number | undefined): void;
  /** Gives back all space that was taken. Returns the number of bytes. */
  free(pid: number | undefined): number;
  /** The command prefix that gives a command the same shortage. */
  readonly wrapper: readonly string[];
  remove(): void;
}

const MEBIBYTE = 2 ** 20;

/**
 * The size in MiB. The write-ahead log grows to 4 MiB before SQLite empties it (1,000 pages), and emptying it may need
 * as much again in the file. If the log could fill the disk by itself, no space would be left to take away and give
 * back.
 */
const DISK_SIZE = 16;

/** Mounts a file system in memory. Returns undefined when this process may not mount. */
export function mountSmallDisk(): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'vault-check-'));
  if (!succeeds('mount', '-t', 'tmpfs', '-o', `size=${DISK_SIZE}m,mode=0700`, 'tmpfs', folder)) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const filler = join(folder, 'filler');
  const unmount = () => {
    succeeds('umount', '-l', folder);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', unmount);
  return {
    way: 'tmpfs',
    folder,
    leave: (bytes) => {
      fill(filler);
      truncateSync(filler, Math.max(0, statSync(filler).size - bytes));
    },
    free: () => {
      const freed = statSync(filler, { throwIfNoEntry: false })?.size ?? 0;
      rmSync(filler, { force: true });
      return freed;
    },
    wrapper: [],
    remove: () => {
      process.removeListener('exit', unmount);
      unmount();
    },
  };
}

function fill(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (const size of [MEBIBYTE, 4096]) while (fits(file, size));
  } finally {
    closeSync(file);
  }
}

function fits(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch {
    return false;
  }
}

/** Limits the size of files, so that writes fail as they do at a quota. Throws when `prlimit` is missing. */
export function limitFileSize(log: (folder: string) => string): SmallDisk {
  if (!succeeds('prlimit', '--version'))
    throw new Error('this check needs Linux and prlimit (apt-get install util-linux)');
  const folder = mkdtempSync(join(tmpdir(), 'vault-check-'));
  const limit = (pid: number | undefined, bytes: number | 'unlimited') => {
    if (pid !== undefined && !succeeds('prlimit', '--pid', String(pid), `--fsize=${bytes}:unlimited`))
      throw new Error('prlimit failed');
  };
  return {
    way: 'file_size',
    folder,
    // A limit of 0 also blocks the start of the log, which SQLite rewrites after it emptied the log.
    leave: (bytes, pid) =>
      limit(pid, bytes === 0 ? 0 : (statSync(log(folder), { throwIfNoEntry: false })?.size ?? 0) + bytes),
    free: (pid) => {
      limit(pid, 'unlimited');
      return Number.POSITIVE_INFINITY;
    },
    wrapper: ['prlimit', '--fsize=4096:unlimited'],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function succeeds(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}
