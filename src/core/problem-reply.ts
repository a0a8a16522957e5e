import type { Reply } from '../contract/call.ts';
import { PROBLEM_TYPE_PREFIX, TITLES } from '../contract/problems.ts';
import type { Problem } from './problem.ts';

/** Statuses whose replies always have `Retry-After`. */
const RETRIED: readonly number[] = [429, 503];

/** Returns the reply for a problem: an RFC 9457 body whose `instance` is the trace id (decisions §1). */
export function problemReply(problem: Problem, traceId: string): Reply {
  const body = {
    type: PROBLEM_TYPE_PREFIX + problem.code,
    title: TITLES[problem.status],
    status: problem.status,
    detail: problem.detail,
    instance: traceId,
    ...(problem.errors && { errors: problem.errors }),
    ...(problem.ids && { ids: problem.ids }),
  };
  const reply = { status: problem.status, bodyText: JSON.stringify(body), traceId };
  const retryAfter = problem.retryAfter ?? (RETRIED.includes(problem.status) ? 1 : undefined);
  return retryAfter === undefined ? reply : { ...reply, retryAfter };
}
