import { Fault } from '../core/fault.ts';
import type { GlobalFlags } from './global-flags.ts';

/** The target of text results: undefined and `-` mean standard output. */
export function outputPath(path: string | undefined): string | undefined {
  return path === '-' ? undefined : path;
}

/**
 * Returns the path of a new file that cannot be standard output, because results go there or the file is binary. Throws
 * the fault `usage` for `-`: hardly anyone wants a file of that name, and `./-` still works.
 */
export function filePath<T extends string | undefined>(flag: string, path: T, hint?: string): T {
  if (path !== '-') return path;
  throw new Fault('usage', `${flag}: - is standard output; the flag needs a file path`, { hint });
}

/** Accepted names for NDJSON. */
const LINES: ReadonlySet<string | undefined> = new Set([undefined, 'json', 'ndjson']);

/**
 * For commands that print their rows to standard output: a typed `--output` or `--field` formats the summary, which
 * needs a file. Throws the fault `usage` for a format that the rows do not have; ignores the environment, which serves
 * other commands.
 */
export function requireLines({ output, field }: Pick<GlobalFlags, 'output' | 'field'>, hint: string): void {
  const asked = field !== undefined ? '--field' : LINES.has(output) ? undefined : `--output ${output}`;
  if (asked === undefined) return;
  throw new Fault('usage', `${asked} works only with --out`, { hint });
}
