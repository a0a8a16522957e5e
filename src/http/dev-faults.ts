import type { DevFault } from '../contract/dev-paths.ts';
import { PROBLEMS, type ProblemCode } from '../contract/problems.ts';
import { invalid, Problem } from '../core/problem.ts';
import { allowedMethods } from './routes.ts';

/** Creates the list of faults that a test sets. The first match applies. */
export function createDevFaults() {
  let faults: readonly DevFault[] = [];
  return {
    add(fault: DevFault): void {
      faults = [...faults, fault];
    },
    list: () => faults,
    clear(): void {
      faults = [];
    },
    /** Returns the first fault that matches a request, and reduces its remaining times by one. */
    take(method: string, url: string): DevFault | undefined {
      const found = faults.find(({ request }) => matches(request, method, url));
      if (found === undefined) return undefined;
      const remaining = { ...found, times: found.times - 1 };
      faults = faults.flatMap((fault) => (fault !== found ? [fault] : remaining.times > 0 ? [remaining] : []));
      return found;
    },
  };
}

const MAX_TIMES = 1_000_000;
/** The maximum delay. It leaves time to read the body within the timeout of a request, 30 s. */
const MAX_DELAY_MS = 25_000;
const REQUEST = /^(\*|GET|HEAD|POST|PUT|PATCH|DELETE) (\/[!-~]*)$/;
const MEMBERS: readonly string[] = ['request', 'status', 'retry_after', 'delay_ms', 'drop', 'times'];

/** Returns the fault in a request's body. Throws `invalid_request` if it is not valid. */
export function readDevFault(sent: Readonly<Record<string, unknown>>): DevFault {
  const stray = Object.keys(sent).find((name) => !MEMBERS.includes(name));
  if (stray !== undefined) throw invalid(stray, `is not one of ${MEMBERS.join(', ')}`);
  const status = wholeNumber(sent, 'status', 100, 599);
  const retry_after = wholeNumber(sent, 'retry_after', 0, 3600, ' of seconds');
  const delay_ms = wholeNumber(sent, 'delay_ms', 0, MAX_DELAY_MS, ' of milliseconds');
  const times = wholeNumber(sent, 'times', 1, MAX_TIMES) ?? 1;
  const { drop = false } = sent;
  if (typeof drop !== 'boolean') throw invalid('drop', 'must be true or false');
  if (status !== undefined && problemOf(status) === undefined) {
    const known = new Set(Object.values(PROBLEMS).map((problem) => problem.status));
    throw invalid('status', `must be one of ${[...known].sort((a, b) => a - b).join(', ')}`);
  }
  if (drop && status !== undefined)
    throw invalid('drop', 'must not be given with status: a dropped connection has no answer');
  if (!drop && status === undefined && delay_ms === undefined) {
    throw invalid('status', 'is required, unless delay_ms or drop is given');
  }
  if (retry_after !== undefined && status !== 429 && status !== 503) {
    throw invalid('retry_after', 'is allowed only with status 429 or 503');
  }
  return {
    request: readRequest(sent['request']),
    ...(status !== undefined && { status }),
    ...(retry_after !== undefined && { retry_after }),
    ...(delay_ms !== undefined && { delay_ms }),
    ...(drop && { drop }),
    times,
  };
}

/** Returns the problem that a fault answers with, or undefined if the fault has no status. */
export function problemOfFault({ status, retry_after: retryAfter }: DevFault): Problem | undefined {
  const code = status === undefined ? undefined : problemOf(status);
  if (code === undefined) return undefined;
  const options = { detail: `${PROBLEMS[code].detail} (Injected by \`vault dev faults set\`.)` };
  return new Problem(code, { ...options, ...(retryAfter !== undefined && { retryAfter }) });
}

/** Returns the registry's first problem with this status, which is the most general one. */
function problemOf(status: number): ProblemCode | undefined {
  return (Object.keys(PROBLEMS) as ProblemCode[]).find((code) => PROBLEMS[code].status === status);
}

function readRequest(sent: unknown): string {
  const [, method = '', path = ''] = (typeof sent === 'string' && REQUEST.exec(sent)) || [];
  const allowed = method === '' ? undefined : allowedMethods(path);
  if (allowed === undefined)
    throw invalid('request', 'must be a method (or *) and a path of the API, such as POST /tokens');
  if (method === '*' || allowed.split(', ').includes(method)) return `${method} ${path}`;
  throw invalid('request', `must be a method of this path: ${allowed}`);
}

function wholeNumber(sent: Readonly<Record<string, unknown>>, name: string, least: number, most: number, unit = '') {
  const value = sent[name];
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(name, `must be a whole number${unit} from ${least} to ${most}`);
}

function matches(request: string, method: string, url: string): boolean {
  const [wanted, path = ''] = request.split(' ');
  if (wanted !== '*' && wanted !== method) return false;
  const [pattern, segments] = [segmentsOf(path), segmentsOf(url)];
  const isSame = (part: string, i: number) => (part.startsWith('{') ? segments[i] !== '' : part === segments[i]);
  return pattern.length === segments.length && pattern.every(isSame);
}

/** A trailing slash makes no difference (decisions §1). */
function segmentsOf(url: string): readonly string[] {
  return url.replace(/\?.*$/, '').replace(/\/$/, '').split('/');
}
