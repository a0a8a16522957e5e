import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Needle } from './leakage-canaries.ts';

/** Where to look: files, or folders with all that is in them. */
export interface ScanRequest {
  readonly paths: readonly string[];
  readonly needles: readonly Needle[];
}

/** Looks at the command line and the environment of every process whose environment has `marker`, until told to stop. */
export interface WatchRequest {
  readonly marker: string;
}

export interface Hit {
  /** A file, or `/proc/PID/…`. */
  readonly where: string;
  readonly canary: string;
  readonly encoding: string;
}

export interface ScanResult {
  readonly hits: readonly Hit[];
  readonly bytes: number;
  readonly files: number;
}

/** What the processes looked like, by their id. */
export type WatchResult = readonly {
  readonly pid: number;
  readonly cmdline: Uint8Array;
  readonly environ: Uint8Array;
}[];

const POLL_MS = 15;

function filesBelow(path: string): readonly string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (found.isFile()) return [path];
  return found.isDirectory() ? readdirSync(path).flatMap((name) => filesBelow(join(path, name))) : [];
}

function scan({ paths, needles }: ScanRequest): ScanResult {
  const hits: Hit[] = [];
  let bytes = 0;
  const files = paths.flatMap(filesBelow);
  for (const where of files) {
    const content = readFileSync(where);
    bytes += content.length;
    for (const needle of needles) {
      if (content.includes(Buffer.from(needle.bytes)))
        hits.push({ where, canary: needle.canary, encoding: needle.encoding });
    }
  }
  return { hits, bytes, files: files.length };
}

/** Nothing of a process that ended meanwhile, or is another user's. */
function look(pid: string, what: 'cmdline' | 'environ'): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${what}`);
  } catch {
    return Buffer.alloc(0);
  }
}

const seen = new Map<string, WatchResult[number]>();
let timer: NodeJS.Timeout | undefined;

function watch(marker: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const environ = look(pid, 'environ');
    if (environ.includes(marker)) seen.set(pid, { pid: Number(pid), cmdline: look(pid, 'cmdline'), environ });
  }
}

/**
 * Answers scans in a process of its own: one that had the file open with SQLite would drop its locks by reading it, and
 * what is looked for must not be found in the memory or the environment of whoever looks.
 */
function answer(message: ScanRequest | WatchRequest | 'stop'): void {
  if (message === 'stop') {
    clearInterval(timer);
    process.send?.([...seen.values()]);
  } else if ('marker' in message) {
    // Other systems show a process's environment to nobody through a file.
    if (existsSync('/proc')) timer = setInterval(() => watch(message.marker), POLL_MS);
    process.send?.('watching');
  } else {
    process.send?.(scan(message));
  }
}

// The module is loaded by whoever looks for checks, too; only the process that is told to scan does so.
if (process.send !== undefined && process.argv[2] === 'scan') {
  process.on('message', answer);
  process.once('disconnect', () => process.exit(0));
}
