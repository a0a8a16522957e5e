import { Fault } from '../core/fault.ts';
import type { GlobalFlags } from './global-flags.ts';

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
  throw new Fault('usage', `${flag}: - is standard output; the flag needs a file path`, { hint });
}

/** The names under which users mean NDJSON. */
const LINES: ReadonlySet<string | undefined> = new Set([undefined, 'json', 'ndjson']);

/**
 * For commands whose standard output are their rows: a typed `--output` or `--field` speaks of the summary, which only a file
 * has. Throws the fault `usage` for one that asks for other rows than come; what the environment says is meant for other
 * commands.
 */
export function requireLines({ output, field }: Pick<GlobalFlags, 'output' | 'field'>, hint: string): void {
  const asked = field !== undefined ? '--field' : LINES.has(output) ? undefined : `--output ${output}`;
  if (asked === undefined) return;
  throw new Fault('usage', `${asked} works only with --out`, { hint });
}
