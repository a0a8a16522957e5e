import { Fault } from '../../core/fault.ts';
import type { GlobalFlags } from '../flags/global-flags.ts';

/** Returns the path of a file for results, or undefined for standard output (`-` or no path). */
export function outputPath(path: string | undefined): string | undefined {
  return path === '-' ? undefined : path;
}

/**
 * Returns the path of a file that cannot be standard output. Throws the fault `usage` for `-`: hardly anyone wants a
 * file of that name, and `./-` still works.
 */
export function filePath<T extends string | undefined>(flag: string, path: T, hint?: string): T {
  if (path !== '-') return path;
  throw new Fault('usage', `${flag}: - is standard output; the flag needs a file path`, { hint });
}

/** The values of `--output` that fit rows of NDJSON. */
const LINES: ReadonlySet<string | undefined> = new Set([undefined, 'json', 'ndjson']);

/**
 * Throws the fault `usage` for a typed `--output` or `--field` when a command prints its rows to standard output: these
 * flags format the summary, which a command prints only with `--out`. Ignores the environment, which may be meant for
 * other commands.
 */
export function requireLines({ output, field }: Pick<GlobalFlags, 'output' | 'field'>, hint: string): void {
  const asked = field !== undefined ? '--field' : LINES.has(output) ? undefined : `--output ${output}`;
  if (asked === undefined) return;
  throw new Fault('usage', `${asked} works only with --out`, { hint });
}
