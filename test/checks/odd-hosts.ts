import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { allEntries } from '../../src/cli/program.ts';
import { startRunner } from '../scripts/run-script.ts';
import { type Check, CheckFailure, type CheckOptions } from './check.ts';
import { ENVIRONMENT } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
import { tryReadOnlyDisk, tryWithoutHome } from './odd-hosts-disk.ts';
import { floodAnonymously, stallReader } from './odd-hosts-log.ts';
import { replaceSocket, trySignals, trySocketPaths } from './odd-hosts-signals.ts';
import { builtText, type Guard, removeGuards } from './patched-product.ts';
import { seededNumbers } from './perform.ts';

/** A path that no file can have, by the error of the system. */
const PATHS = {
  ENOTDIR: 'plain/file',
  ELOOP: 'circle/file',
  ENAMETOOLONG: 'x'.repeat(300),
} as const;

const PATH_VALUES: ReadonlySet<string> = new Set(['path', 'folder', 'place']);
const PATH_ARGUMENTS: Readonly<Record<string, string>> = {
  import: 'file',
  restore: 'backup',
  backup: 'out',
  'seed apply': 'file',
};
const SUGGESTS_PATH = /\b(?:file|folder|path)\b/;
const WITH_URL_PATH: ReadonlySet<string> = new Set(['dev faults set']);

interface Line {
  readonly words: readonly string[];
  readonly name: string;
  readonly code: keyof typeof PATHS;
}

async function* allCommands() {
  for (const { words, define } of allEntries()) {
    const command = new Command();
    await define(command);
    yield { words, command };
  }
}

/** Returns a command line for each flag and argument with a path of each command, and each error. */
async function allLines(): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for await (const { words, command } of allCommands()) {
    const required = command.registeredArguments.filter((argument) => argument.required).map(() => 'x');
    const codes = Object.keys(PATHS) as (keyof typeof PATHS)[];
    for (const option of command.options) {
      const value = /<([^>.]+)/.exec(option.flags)?.[1] ?? '';
      if (!PATH_VALUES.has(value)) continue;
      const flag = option.long ?? '';
      for (const code of codes) lines.push({ words: [...words, flag, PATHS[code], ...required], name: flag, code });
    }
    const argument = PATH_ARGUMENTS[words.join(' ')];
    for (const code of argument === undefined ? [] : codes)
      lines.push({ words: [...words, PATHS[code]], name: argument ?? '', code });
  }
  return lines;
}

/** Throws for a flag or an argument that looks like a path, and is not in the tables: its errors would not be tried. */
async function requireAllPaths(): Promise<void> {
  for await (const { words, command } of allCommands()) {
    const line = words.join(' ');
    const values = command.options.map(({ flags }) => /[<[]([^>\].]+)/.exec(flags)?.[1] ?? '');
    const names = command.registeredArguments
      .filter((argument) => SUGGESTS_PATH.test(`${argument.name()} ${argument.description}`))
      .map((argument) => argument.name());
    const unknown = [
      ...values.filter((value) => SUGGESTS_PATH.test(value) && !PATH_VALUES.has(value)),
      ...names.filter((name) => PATH_ARGUMENTS[line] !== name && !WITH_URL_PATH.has(line)),
    ];
    if (unknown.length > 0) throw new CheckFailure(`${line}: is ${unknown.join(', ')} a path?`);
  }
}

function makePlaces(folder: string): void {
  writeFileSync(join(folder, 'plain'), '');
  symlinkSync('circle', join(folder, 'circle'));
}

/** Runs every command with every path flag on paths that no file can have. A sample has one error for each flag. */
async function tryPaths(seed: number, isSample: boolean): Promise<number> {
  await requireAllPaths();
  using folder = makeMemoryFolder();
  const runner = startRunner();
  try {
    makePlaces(folder.path);
    const random = seededNumbers(seed);
    const lines = await allLines();
    const step = Object.keys(PATHS).length;
    const chosen = isSample
      ? lines.filter((_, at) => at % step === 0).map((_, at) => lines[at * step + Math.floor(random() * step)])
      : lines;
    for (const line of chosen) {
      if (line === undefined) continue;
      const { exitCode, stderr } = await runner.run(line.words, { cwd: folder.path, stdin: '' });
      judge(line, exitCode, stderr);
    }
    return chosen.length;
  } finally {
    runner.kill();
  }
}

function judge({ words, name, code }: Line, exitCode: number | null, stderr: string): void {
  const expected = `vault: ${name}: ${PATHS[code]} cannot be used (${code})\nhint: `;
  if (exitCode === 2 && stderr.startsWith(expected)) return;
  throw new CheckFailure(`${words.join(' ')}: exit code ${exitCode}: ${stderr.slice(0, 400)}`);
}

function tryOnePath(bin: string): void {
  using folder = makeMemoryFolder();
  makePlaces(folder.path);
  const words = ['doctor', '--file', PATHS.ENOTDIR];
  const ran = spawnSync(process.execPath, [bin, ...words], { cwd: folder.path, env: ENVIRONMENT, encoding: 'utf8' });
  judge({ words, name: '--file', code: 'ENOTDIR' }, ran.status, ran.stderr);
}

/** Checks users without a home folder, read-only disks, signals and impossible paths. */
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
