import { Fault } from '../../core/fault.ts';
import type { Instant } from '../../core/ports.ts';
import { parseInstant } from '../../core/time.ts';
import { parseDuration } from './duration.ts';

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** An ISO 8601 time, or how long ago (`15m`, `24h`). Throws the fault `usage`. */
export function parseMoment(flag: string, text: string | undefined, now: Instant = Date.now()): Instant | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return now - parseDuration(flag, text);
  if (!ISO.test(text)) throw new Fault('usage', `${flag} is an ISO 8601 time, or how long ago: 15m, 24h`);
  const instant = parseInstant(text);
  if (!Number.isNaN(instant)) return instant;
  throw new Fault('usage', `${flag}: ${text} is not a time that there is`);
}
