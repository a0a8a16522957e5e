import { Fault } from '../core/fault.ts';

/** Where text results go: undefined, and `-`, are standard output. */
export function outputPath(path: string | undefined): string | undefined {
  return path === '-' ? undefined : path;
}

/**
 * The path of a file that is made and cannot be standard output: results are printed there, or it is no stream of text.
 * Throws the fault `usage` for `-`, since nobody who writes that wants a file of this name; `./-` is one.
 */
export function filePath<T extends string | undefined>(flag: string, path: T, hint?: string): T {
  if (path !== '-') return path;
  throw new Fault('usage', `${flag}: - is standard output, and this is for a file`, {
    ...(hint !== undefined && { hint }),
  });
}
