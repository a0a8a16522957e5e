import { Fault } from '../../../core/fault.ts';
import { parseDuration } from '../../flags/quantities.ts';

export const FORWARD_ONLY = 'the clock only moves forward, by a duration such as 90s, 15m, 25h or 30d';
export const OTHER_WAYS =
  'run `vault dev clock advance 25h`, or `vault dev clock set 2030-01-31` for any time, or `vault dev clock reset` for the time of this machine';

/**
 * Returns the milliseconds of a duration by which the clock of a vault moves forward. `name` begins messages. Throws
 * the fault `usage` for a negative or malformed one.
 */
export function stepForward(name: string, typed: string): number {
  if (typed.startsWith('-')) throw new Fault('usage', FORWARD_ONLY, { hint: OTHER_WAYS });
  return Math.round(parseDuration(name, typed, '90s, 15m, 25h or 30d'));
}
