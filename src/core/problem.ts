import type { Reply } from '../contract/call.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS, type ProblemCode, type ProblemStatus, TITLES } from '../contract/problems.ts';

/** The errors of a request, by the dotted path of the member (`rules.0.container`). */
export type MemberErrors = Readonly<Record<string, readonly string[]>>;

/**
 * Returns one line `path: message` for each message; empty for a problem without members. `nameOf` translates a path.
 */
export function memberLines(errors: MemberErrors | null | undefined, nameOf = (path: string): string => path) {
  return Object.entries(errors ?? {}).flatMap(([path, messages]) =>
    messages.map((message) => `${nameOf(path)}: ${message}`),
  );
}

export interface ProblemOptions {
  /**
   * Replaces the standard text of the problem. The caller receives this text, so it never contains an exception's
   * message or a value.
   */
  readonly detail?: string;
  readonly errors?: MemberErrors;
  /** The ids of the records that a request with an idempotency key made or changed. */
  readonly ids?: readonly string[];
  /** Printed only on this machine's stderr. */
  readonly cause?: unknown;
  /** Seconds. */
  readonly retryAfter?: number;
  /** The trace id of the reply that the problem comes from. */
  readonly traceId?: string;
}

/** A failure that the caller may see. Every other error becomes `internal_error`. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: ProblemStatus;
  readonly detail: string;
  readonly errors: MemberErrors | undefined;
  readonly ids: readonly string[] | undefined;
  readonly retryAfter: number | undefined;
  readonly traceId: string | undefined;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    const { status } = PROBLEMS[code];
    const detail = options.detail ?? PROBLEMS[code].detail;
    const { stackTraceLimit } = Error;
    // Skip the stack of a 4xx: capturing it takes most of the time of creating a problem. With frozen intrinsics,
    // `Reflect.set` changes nothing and does not throw.
    if (status < 500) Reflect.set(Error, 'stackTraceLimit', 0);
    super(`${code}: ${detail}`, { cause: options.cause });
    Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
    this.name = 'Problem';
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.errors = options.errors;
    this.ids = options.ids;
    this.retryAfter = options.retryAfter;
    this.traceId = options.traceId;
  }
}

export function invalid(path: string, message: string): Problem {
  return new Problem('invalid_request', { errors: { [path]: [message] } });
}

export function throwIf(problem: Problem | undefined): void {
  if (problem !== undefined) throw problem;
}

/** Returns whether an error means that a stored record is damaged. */
export function isDamage(error: unknown): boolean {
  return error instanceof Problem && error.code === 'integrity_failure';
}

/** Returns the result of `read`, or undefined if it throws `integrity_failure`. */
export function decoded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

/** Resolves to the result of `read`, or to undefined if it fails with `integrity_failure`. */
export async function unlessDamaged<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

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
