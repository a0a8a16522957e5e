import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { tryReadOnlyDisk } from './odd-hosts-disk.ts';
import { floodAnonymously, stallReader } from './odd-hosts-log.ts';
import { tryOnePath, tryPaths } from './odd-hosts-paths.ts';
import { replaceSocket, trySignals, trySocketPaths } from './odd-hosts-signals.ts';
import { tryWithoutHome } from './odd-hosts-users.ts';
import { builtText } from './patched-product.ts';
import { type Guard, removeGuards } from './remove-guards.ts';

/**
 * The product is at home on odd hosts: for a user without a home folder, on a read-only disk, with a reader of its log
 * that stalls, under every signal, and with paths that no file can have.
 */
async function run({ seed, quick }: CheckOptions) {
  const [onProcesses, onFiles] = await Promise.all([tryProcesses(quick), tryFiles(seed, quick)]);
  return { ...onProcesses, ...onFiles };
}

async function tryProcesses(quick: boolean) {
  const { written, dropped, ...log } = await stallReader(quick);
  return {
    signals: await trySignals(quick),
    lines_written: written,
    lines_dropped: dropped,
    ...log,
    refused_requests_counted: await floodAnonymously(),
  };
}

async function tryFiles(seed: number, quick: boolean) {
  return {
    socket_of_another_daemon: await replaceSocket(),
    longest_socket_path: await trySocketPaths(),
    commands_without_a_home: await tryWithoutHome(quick),
    commands_on_a_read_only_disk: await tryReadOnlyDisk(quick),
    paths_that_no_file_can_have: await tryPaths(seed, quick),
  };
}

/** The guards, as the built product has them, and the attacks that must succeed without them. */
const GUARDS: readonly Guard[] = [
  [builtText('["SIGHUP","SIGUSR2"]'), '[]', (bin) => trySignals(true, bin)],
  [builtText('one.ino===other.ino&&one.dev===other.dev'), 'true', (bin) => replaceSocket(bin)],
  [builtText('(!writableNeedDrain||'), '(true||', (bin) => stallReader(true, bin)],
  [builtText('setTimeout(()=>process.exit(),LAST_MS)'), 'setTimeout(()=>{},LAST_MS)', (bin) => stallReader(true, bin)],
  [builtText('count<=MAX_LINES'), 'true', (bin) => floodAnonymously(bin)],
  [
    builtText('node_path_default.join(home,...names)'),
    'node_path_default.join(process.env.HOME,...names)',
    mustRunWithoutHome,
  ],
  [builtText('EROFS:"name a path'), 'EROXX:"name a path', mustRunOnReadOnlyDisk],
  [builtText('ENOTDIR:"name another'), 'ENOWHERE:"name another', tryOnePath],
];

/** A system that cannot run an attack proves nothing about its guard, so the control passes over it. */
async function mustRunWithoutHome(bin: string): Promise<void> {
  if (typeof (await tryWithoutHome(true, bin)) === 'string') throw new CheckFailure('not tried: no other user');
}

async function mustRunOnReadOnlyDisk(bin: string): Promise<void> {
  if (typeof (await tryReadOnlyDisk(true, bin)) === 'string') throw new CheckFailure('not tried: no mounts');
}

/** A sample has one guard, by the seed. */
const control = ({ seed, quick }: CheckOptions) =>
  removeGuards(quick ? GUARDS.filter((_, at) => at === seed % GUARDS.length) : GUARDS);

export const CHECK: Check = { number: 39, name: 'odd hosts', quick: true, run, control };
