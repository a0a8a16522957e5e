import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Needle } from './leakage-canaries.ts';

interface ScanRequest {
  readonly paths: readonly string[];
  readonly needles: readonly Needle[];
}

/** Asks the scanner to record every process whose environment contains `marker`, until `stop`. */
interface WatchRequest {
  readonly marker: string;
}

export interface Hit {
  readonly where: string;
  readonly canary: string;
  readonly encoding: string;
}

export interface ScanResult {
  readonly hits: readonly Hit[];
  readonly bytes: number;
  readonly files: number;
}

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

const START_BYTES = 4;
const NOTHING: readonly Needle[] = [];

/** Looks for the first bytes of all needles at each position: one pass for each needle takes ten times as long. */
function scan({ paths, needles }: ScanRequest): ScanResult {
  const hits: Hit[] = [];
  const byStart = Map.groupBy(needles, ({ bytes }) => Buffer.from(bytes).readUInt32BE());
  let bytes = 0;
  const files = paths.flatMap(filesBelow);
  for (const where of files) {
    const content = readFileSync(where);
    const found = new Set<Needle>();
    bytes += content.length;
    for (let at = 0; at + START_BYTES <= content.length; at++) {
      for (const needle of byStart.get(content.readUInt32BE(at)) ?? NOTHING)
        if (content.subarray(at, at + needle.bytes.length).equals(needle.bytes)) found.add(needle);
    }
    hits.push(...[...found].map(({ canary, encoding }) => ({ where, canary, encoding })));
  }
  return { hits, bytes, files: files.length };
}

/** Reads a file of a process in `/proc`. Returns no bytes when the process has ended or belongs to another user. */
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
 * Answers a request. The scanner is a separate process for two reasons. Reading a file drops the locks of a process
 * that has the file open with SQLite. The scanner must not find canaries in its own memory or environment.
 */
function answer(message: ScanRequest | WatchRequest | 'stop'): void {
  if (message === 'stop') {
    clearInterval(timer);
    process.send?.([...seen.values()]);
  } else if ('marker' in message) {
    // Only Linux shows environments as files.
    if (existsSync('/proc')) timer = setInterval(() => watch(message.marker), POLL_MS);
    process.send?.('watching');
  } else {
    process.send?.(scan(message));
  }
}

// `scripts/check.ts` also imports this module, so start only as a child process with the argument `scan`.
if (process.send !== undefined && process.argv[2] === 'scan') {
  process.on('message', answer);
  process.once('disconnect', () => process.exit(0));
}
