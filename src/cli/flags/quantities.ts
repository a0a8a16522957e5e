import { Fault } from '../../core/fault.ts';
import type { Instant } from '../../core/ports.ts';
import { parseInstant } from '../../core/time.ts';
import { wallTime } from '../../core/timers.ts';

const MILLISECONDS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 1024, MiB: 1024 ** 2 };
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** Returns the milliseconds of `500ms`, `30s`, `1.5m`, `1h` or `2d`. A bare number is seconds. Throws `usage`. */
export function parseDuration(flag: string, text: string, examples = '500ms, 30s or 2m'): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text);
  if (match === null) throw new Fault('usage', `${flag} must be a duration such as ${examples}`);
  return Number(match[1]) * (MILLISECONDS[match[2] ?? 's'] ?? 1000);
}

/**
 * Returns a size in bytes. The text is a positive whole number, alone or with the unit KiB or MiB. Throws the fault
 * `usage` for any other text.
 */
export function parseByteSize(flag: string, text: string): number {
  const match = /^([1-9]\d{0,8})(KiB|MiB)?$/.exec(text);
  if (match === null) throw new Fault('usage', `${flag} must be a number of bytes such as 65536, 64KiB or 1MiB`);
  return Number(match[1]) * (BYTES[match[2] ?? ''] ?? 1);
}

/** Returns the rate of `100/s`, `600/m` or `5000/h`. Throws the fault `usage`. */
export function parseRate(flag: string, text: string): { readonly calls: number; readonly ms: number } {
  const match = /^([1-9]\d{0,8})\/([smh])$/.exec(text);
  if (match === null) throw new Fault('usage', `${flag} must be a rate such as 100/s, 600/m or 5000/h`);
  return { calls: Number(match[1]), ms: MILLISECONDS[match[2] ?? 's'] ?? 1000 };
}

/** Returns a size as text: `640 KiB`, `12.3 MiB`. */
export function printByteSize(bytes: number): string {
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** Returns the instant of an ISO 8601 time, or of an age before now (`15m`, `24h`). Throws the fault `usage`. */
export function parseMoment(flag: string, text: string): Instant {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return wallTime() - parseDuration(flag, text);
  if (!ISO.test(text)) throw new Fault('usage', `${flag} must be an ISO 8601 time, or an age such as 15m or 24h`);
  const instant = parseInstant(text);
  if (!Number.isNaN(instant)) return instant;
  throw new Fault('usage', `${flag}: ${text} is not a valid time`);
}

/** Returns one of the choices. Throws the fault `usage`, which names the flag and the choices, for any other text. */
export function parseChoice<Choice extends string>(flag: string, text: string, choices: readonly Choice[]): Choice {
  const chosen = choices.find((choice) => choice === text);
  if (chosen !== undefined) return chosen;
  throw new Fault('usage', `${flag} must be one of ${choices.join(', ')}`);
}

/** Returns a whole number from `min` to `max`. Throws the fault `usage` with `message` for any other text. */
export function parseWhole(text: string, min: number, max: number, message: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Fault('usage', message);
}
