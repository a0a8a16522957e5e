import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The two durable files of a vault. SQLite recreates the third, `-shm`, after a crash. */
export type DiskFile = 'database' | 'log';

/** A change to the disk, or an answer to a caller. */
export type DiskEvent =
  | { readonly kind: 'write'; readonly file: DiskFile; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly file: DiskFile; readonly size: number }
  | { readonly kind: 'create' | 'unlink'; readonly file: DiskFile }
  | { readonly kind: 'sync'; readonly file: DiskFile | 'folder' }
  | { readonly kind: 'answer'; readonly operation: number };

interface Trace {
  readonly events: readonly DiskEvent[];
  /** The number of threads that wrote to the log. */
  readonly writers: number;
}

const CALLS =
  'openat,?open,?creat,pwrite64,?pwritev,?pwritev2,write,writev,?sendmsg,?sendto,ftruncate,?truncate,fallocate,' +
  'fsync,fdatasync,?sync_file_range,?unlink,unlinkat,?rename,?renameat,?renameat2';

/**
 * Returns a command that records into files `PREFIX.<thread>`. A shared file would break up the lines of the threads.
 */
export function recorder(prefix: string): readonly string[] {
  const each = ['-ff', '-ttt', '-T', '-qq', '-y', '-xx', '-s', '100000', '--seccomp-bpf'];
  return ['strace', ...each, '-e', `trace=${CALLS}`, '-o', prefix];
}

/** Returns the trace id of an answer, which identifies the answer in the data of a socket. */
export const traceIdOf = (operation: number): string => `power-${operation}-`;

/**
 * Reads the recorded calls of a daemon on the vault `file`, sorted by time. Throws when it does not understand a call,
 * because an incomplete replay would prove nothing.
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
  /** The time of the call, in seconds since 1970. */
  readonly at: number;
  readonly call: string;
}

/** A line such as `1795305600.123456 name(arguments) = result <0.000123>`. */
const TIMED = /^(\d+\.\d+) (.*?)(?: <(\d+\.\d+)>)?$/;

/**
 * Returns the calls of one thread in order. A sync counts from its end, when its changes are durable. Any other call
 * counts from its start, so an answer sent during a sync is placed before the sync.
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

/**
 * A call such as `name(arguments) = result`. For an open file, it shows the path after the file's number: `18</path>`.
 */
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

/** Returns the answers in the arguments of a call, which may send several. */
function answers(args: string): readonly DiskEvent[] {
  const text = unhex([...args.matchAll(/"([^"]*)"/g)].map(([, part = '']) => part).join('')).toString('latin1');
  return [...text.matchAll(/power-(\d+)-/g)].map(([, operation]) => ({ kind: 'answer', operation: Number(operation) }));
}
