import { Fault } from '../../core/fault.ts';
import type { GlobalFlags } from '../global-flags.ts';

/** What rows of JSON, one a line, can be meant by. */
const LINES: ReadonlySet<string | undefined> = new Set([undefined, 'json', 'ndjson']);

/**
 * For commands whose standard output are their rows: a typed `--output` or `--field` speaks of the summary, which only a file
 * has. Throws the fault `usage` for one that asks for other rows than come; what the environment says is meant for other
 * commands.
 */
export function requireLines({ output, field }: Pick<GlobalFlags, 'output' | 'field'>, hint: string): void {
  const asked = field !== undefined ? '--field' : LINES.has(output) ? undefined : `--output ${output}`;
  if (asked === undefined) return;
  throw new Fault('usage', `${asked} is of the summary, which is printed with --out alone`, { hint });
}
