import { invalid, Problem } from '../core/problem.ts';
import { parseInstant } from '../core/time.ts';

/** The last millisecond of the year 9999. */
const LAST_INSTANT = 253_402_300_799_999;
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

export type DevBody = Readonly<Record<string, unknown>>;

/**
 * Parses the body of a request to a control. Returns an empty object for an absent body. Throws `malformed_json`, or
 * `invalid_request` for another value than an object.
 */
export function parseDevBody(text: string | undefined): DevBody {
  if (text === undefined || text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (cause) {
    throw new Problem('malformed_json', { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Problem('invalid_request', { detail: 'The body must be a JSON object.' });
}

function onlyMember(sent: DevBody, name: string): unknown {
  const stray = Object.keys(sent).find((each) => each !== name);
  if (stray !== undefined) throw invalid(stray, `is not a member; the only member is ${name}`);
  return sent[name];
}

export function timeOf(sent: DevBody): number {
  const now = onlyMember(sent, 'now');
  const instant = typeof now === 'string' && ISO.test(now) ? parseInstant(now) : Number.NaN;
  if (instant >= 0 && instant <= LAST_INSTANT) return instant;
  throw invalid('now', 'must be an ISO 8601 time with its offset, from 1970 to 9999: 2030-01-31T12:00:00Z');
}

export function advanceOf(sent: DevBody, now: number): number {
  const by = onlyMember(sent, 'advance_ms');
  if (typeof by === 'number' && Number.isInteger(by) && by >= 0 && now + by <= LAST_INSTANT) return by;
  throw invalid(
    'advance_ms',
    'must be a whole number of milliseconds, at least 0; the clock must stay before the year 10000',
  );
}
