import { accessSync, constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command, Option } from 'commander';
import { errorCode, Fault } from '../../core/fault.ts';
import { isGlobal } from '../flags/global-flags.ts';

/** The hints for a path that no file can have, by the error code of the system. */
const HINTS = {
  ENOTDIR: 'name another path: a part of this one is a file, not a folder',
  ELOOP: 'name another path: the symbolic links of this one lead in a circle',
  ENAMETOOLONG: 'name a shorter path',
  EROFS: 'name a path on a disk that is mounted for writing',
} as const;

/** Matches flags with a path: a file, a folder, or the file or database of `vault move`. */
const PATH_FLAG = /<(?:path|folder|vault)(?:\.\.\.)?>/;
const PATH_ARGUMENTS: ReadonlySet<string> = new Set(['file', 'backup', 'out']);

/**
 * The flags and arguments of files that a command opens for writing, or beside which it writes. The writers of other
 * files, such as `--out`, name their flag themselves.
 */
const WRITTEN: ReadonlySet<string> = new Set([
  '--file',
  '--anchor',
  '--from',
  '--to',
  '--socket',
  '--audit-archive',
  'out',
]);

/** Returns the hint for a path that the system refuses; undefined for other errors. */
export function pathHint(error: unknown): string | undefined {
  const hints: Readonly<Record<string, string>> = HINTS;
  const code = errorCode(error) ?? '';
  return Object.hasOwn(hints, code) ? hints[code] : undefined;
}

/** Returns the fault `usage` for a path that the system refuses; undefined for other errors. */
export function pathFault(name: string, path: string, error: unknown): Fault | undefined {
  const hint = pathHint(error);
  if (hint === undefined) return undefined;
  return new Fault('usage', `${name}: ${path} cannot be used (${errorCode(error)})`, { hint, cause: error });
}

/**
 * Throws the fault `usage` for an empty flag, and for a path on the command line that no file can have, before the
 * command does anything: most calls report such a path as a missing file, or without its flag. Paths of the environment
 * are left to the command, because it may not use them.
 */
export function checkTypedPaths(command: Command): void {
  // A shell gives an empty value for a variable that is not set. The command would use another vault or file instead.
  for (const [option, value] of typedValues(command)) {
    if (value === '' && (isGlobal(option) || PATH_FLAG.test(option.flags))) {
      throw new Fault('usage', `${option.long} is empty`, {
        hint: 'name a value, or leave the flag out; a variable of the shell may not be set',
      });
    }
  }
  for (const [name, path] of typedPaths(command))
    checkPath(name, path, WRITTEN.has(name) && !isOnlyRead(name, command));
}

/** Returns whether a command only reads the file of a flag in `WRITTEN`, or notes its path for later commands. */
function isOnlyRead(name: string, command: Command): boolean {
  if (command.parent?.name() === 'profile') return true;
  // `backup --verify` names an existing backup.
  if (name === 'out') return command.getOptionValue('verify') === true;
  return name === '--anchor' && ['doctor', 'verify'].includes(command.name());
}

/**
 * Throws the fault `usage` for a path that no file can have, and for one on a read-only disk if the file is written.
 * `name` begins the message.
 */
export function checkPath(name: string, path: string, isWritten = false): void {
  const found = errorOf(() => statSync(path));
  const tested = errorCode(found) === 'ENOENT' ? dirname(path) : path;
  const isRefused = pathHint(found) !== undefined;
  const fault = pathFault(
    name,
    path,
    isWritten && !isRefused ? errorOf(() => accessSync(tested, constants.W_OK)) : found,
  );
  if (fault !== undefined) throw fault;
}

function errorOf(look: () => unknown): unknown {
  try {
    look();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Yields the flags of a command, each with its typed values; undefined for a flag that is not typed. */
function* typedValues(command: Command): Generator<readonly [option: Option, value: unknown]> {
  for (let one: Command | null = command; one !== null; one = one.parent) {
    for (const option of one.options) {
      for (const value of [one.getOptionValue(option.attributeName())].flat()) yield [option, value];
    }
  }
}

/** Yields the flag or argument and the path of everything typed that names a file. `-` is no path. */
function* typedPaths(command: Command): Generator<readonly [name: string, path: string]> {
  for (const [{ long, flags }, path] of typedValues(command)) {
    if (PATH_FLAG.test(flags) && isPath(path)) yield [long ?? flags, path];
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    if (!PATH_ARGUMENTS.has(argument.name())) continue;
    for (const path of [command.processedArgs[index]].flat()) if (isPath(path)) yield [argument.name(), path];
  }
}

/** Returns whether a value is a path to look at: not `-`, and not a pipe of Windows, where a look opens the pipe. */
function isPath(value: unknown): value is string {
  return typeof value === 'string' && value !== '-' && value !== '' && !value.startsWith('\\\\.\\pipe\\');
}
