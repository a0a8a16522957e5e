import { Fault } from '../../core/fault.ts';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of `500ms`, `30s`, `1.5m`, `1h`, `2d`; a bare number is seconds. Throws the fault `usage`. */
export function parseDuration(flag: string, text: string, examples = '500ms, 30s or 2m'): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null) throw new Fault('usage', `${flag} is a duration such as ${examples}`);
  return Number(match[1]) * (UNITS[match[2] ?? 's'] ?? 1000);
}
