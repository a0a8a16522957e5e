import { Fault } from '../../core/fault.ts';
import type { GlobalFlags } from '../global-flags.ts';

/** What rows of JSON, one a line, can be meant by. */
const LINES: ReadonlySet<string | undefined> = new Set([undefined, 'json', 'ndjson']);

/**
 * For commands whose standard output are their rows: a typed `--output` speaks of the summary, which only a file has. Throws
 * the fault `usage` for one that asks for other rows than come; what the environment says is meant for other commands.
 */
export function requireLines({ output }: Pick<GlobalFlags, 'output'>, hint: string): void {
  if (LINES.has(output)) return;
  throw new Fault('usage', `--output ${output} is of the summary, which is printed with --out alone`, { hint });
}
