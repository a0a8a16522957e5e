import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The two files that a vault consists of on a disk. The third, `-shm`, is made anew after a crash. */
export type DiskFile = 'database' | 'log';

/** What a process did to the disk, and what it told its callers, in order. */
export type DiskEvent =
  | { readonly kind: 'write'; readonly file: DiskFile; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: DiskFile; readonly size: number }
  | { readonly kind: 'create' | 'unlink'; readonly file: DiskFile }
  | { readonly kind: 'sync'; readonly file: DiskFile | 'folder' }
  | { readonly kind: 'answer'; readonly operation: number };

export interface Trace {
  readonly events: readonly DiskEvent[];
  /** How many threads have written to the log. */
  readonly writers: number;
}

const CALLS =
  'openat,?open,?creat,pwrite64,?pwritev,?pwritev2,write,writev,?sendmsg,?sendto,ftruncate,?truncate,fallocate,' +
  'fsync,fdatasync,?sync_file_range,?unlink,unlinkat,?rename,?renameat,?renameat2';

/** The command that records into files `PREFIX.<thread>`. One a thread: the lines of several would be torn apart. */
export function recorder(prefix: string): readonly string[] {
  const each = ['-ff', '-ttt', '-T', '-qq', '-y', '-xx', '-s', '100000', '--seccomp-bpf'];
  return ['strace', ...each, '-e', `trace=${CALLS}`, '-o', prefix];
}

/** The trace id of an answer, by which it is found in what goes to a socket. */
export const traceIdOf = (operation: number): string => `power-${operation}-`;

/**
 * Reads a recording of a daemon on the vault `file`: of the thread that answers and of the one that writes, in the order of
 * time. Throws when a call is not understood: a replay of half the writes would show nothing.
 */
export function readTrace(prefix: string, file: string): Trace {
  const read = lineReader(file);
  const threads = readdirSync(dirname(prefix))
    .map((name) => join(dirname(prefix), name))
    .filter((path) => path.startsWith(`${prefix}.`))
    .map((path) => readFileSync(path, 'latin1'));
  const events = threads
    .flatMap(timedCalls)
    .sort((a, b) => a.at - b.at)
    .flatMap(({ call }) => read(call));
  const written = new RegExp(`pwrite64\\(\\d+<${hex(`${file}-wal`).replaceAll('\\', '\\\\')}>`);
  return { events, writers: threads.filter((text) => written.test(text)).length };
}

interface TimedCall {
  /** In seconds. */
  readonly at: number;
  readonly call: string;
}

/** `1795305600.123456 name(arguments) = result <0.000123>` */
const TIMED = /^(\d+\.\d+) (.*?)(?: <(\d+\.\d+)>)?$/;

/**
 * The calls of one thread, in their order. What a sync promises holds from its end on; everything else counts from its
 * beginning: an answer that goes out while a sync is under way stands before it.
 */
function timedCalls(text: string): readonly TimedCall[] {
  let last = 0;
  return text.split('\n').flatMap((line) => {
    const [, began, call = '', took] = TIMED.exec(line) ?? [];
    if (began === undefined) return [];
    const isSync = /^(fsync|fdatasync)\(/.test(call);
    last = Math.max(last, Number(began) + (isSync ? Number(took ?? 0) : 0));
    return [{ at: last, call }];
  });
}

const hex = (text: string) =>
  text.replaceAll(/[\s\S]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
const unhex = (text: string): Buffer => Buffer.from(text.replaceAll('\\x', ''), 'hex');

/** `name(arguments) = result`; a call on an open file has its path behind its number: `18</path>`. */
const LINE = /^(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?/;
const ON_FILE = /^\d+<([^>]*)>/;
const WRITE = /^\d+<[^>]*>, "([^"]*)", \d+, (\d+)$/;

function lineReader(file: string): (line: string) => readonly DiskEvent[] {
  const files: ReadonlyMap<string, DiskFile> = new Map([
    [hex(file), 'database'],
    [hex(`${file}-wal`), 'log'],
  ]);
  const folder = hex(dirname(file));
  const there = new Set<DiskFile>(['database']);

  return (line) => {
    const [, call = '', args = '', code = '-1', opened = ''] = LINE.exec(line) ?? [];
    const result = Number(code);
    if (result < 0) return [];
    const path = ON_FILE.exec(args)?.[1] ?? '';
    const written = files.get(path);
    if (written !== undefined) return onFile(call, args, result, written);
    if (call === 'openat' || call === 'open') {
      const made = files.get(opened);
      if (made === undefined || there.has(made)) return [];
      there.add(made);
      return [{ kind: 'create', file: made }];
    }
    if (call.startsWith('unlink') || call.startsWith('rename') || call === 'truncate') {
      const named = [...files].find(([name]) => args.includes(`"${name}"`))?.[1];
      if (named === undefined) return [];
      if (!call.startsWith('unlink')) throw new Error(`the replay does not know ${call} of a vault`);
      there.delete(named);
      return [{ kind: 'unlink', file: named }];
    }
    if (call.endsWith('sync')) return path === folder ? [{ kind: 'sync', file: 'folder' }] : [];
    return path.startsWith(hex('socket:')) || path.startsWith(hex('TCP:')) ? answers(args) : [];
  };
}

function onFile(call: string, args: string, result: number, file: DiskFile): readonly DiskEvent[] {
  if (call === 'fsync' || call === 'fdatasync') return [{ kind: 'sync', file }];
  if (call === 'ftruncate') return [{ kind: 'truncate', file, size: Number(args.split(', ')[1]) }];
  const [, bytes, offset] = WRITE.exec(args) ?? [];
  if (call !== 'pwrite64' || bytes === undefined) throw new Error(`the replay does not know ${call} on a vault`);
  return [{ kind: 'write', file, offset: Number(offset), bytes: unhex(bytes).subarray(0, result) }];
}

/** Several answers may go out in one call. */
function answers(args: string): readonly DiskEvent[] {
  const text = unhex([...args.matchAll(/"([^"]*)"/g)].map(([, part = '']) => part).join('')).toString('latin1');
  return [...text.matchAll(/power-(\d+)-/g)].map(([, operation]) => ({ kind: 'answer', operation: Number(operation) }));
}
