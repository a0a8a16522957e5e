import { type Operation, takesIdempotencyKey } from '../operations.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS, type ProblemCode, type ProblemStatus, TITLES } from '../problems.ts';
import { type OpenApiNode, reference } from './schemas.ts';

/**
 * The statuses that every operation may return. Any operation returns 400 for an unknown query parameter and 507
 * without space for the audit entry.
 */
const EVERYWHERE = [400, 401, 403, 421, 429, 500, 503, 507] as const;

const TRACE_ID = '00000000-0000-4000-8000-000000000000';

/** The request behind the example of `invalid_request`. */
export const INVALID_EXAMPLE = {
  operation: 'createToken',
  body: { type: 'card', data: { number: '4242424242424241' } },
  errors: {
    'data.number': [
      'must be a card number: a string of 13 to 19 digits without separators, not all zeros, with a valid check digit (Luhn)',
    ],
  },
} as const;

/** Returns the statuses of an operation's problems, in ascending order. */
export function problemStatuses(row: Operation): readonly ProblemStatus[] {
  return [
    ...EVERYWHERE,
    ...(row.params || row.body?.properties?.['application_id'] ? [404 as const] : []),
    ...(row.conflicts !== undefined || takesIdempotencyKey(row) ? [409 as const] : []),
    ...(row.body ? [413 as const, 415 as const] : []),
  ].sort();
}

/** Returns the response for a status: all problems with this status, each with an example. */
export function problemResponse(headerPrefix: string, status: ProblemStatus): OpenApiNode {
  const title = TITLES[status];
  const rows = Object.entries(PROBLEMS).filter(([, row]) => row.status === status);
  const examples = rows.map(([code, { detail }]) => {
    const errors = code === ('invalid_request' satisfies ProblemCode) && { errors: INVALID_EXAMPLE.errors };
    const value = { type: PROBLEM_TYPE_PREFIX + code, title, status, detail, instance: TRACE_ID, ...errors };
    return [code, { summary: detail, value }];
  });
  return {
    description: `${title}: ${rows.map(([code]) => `\`${code}\``).join(', ')}.`,
    headers: {
      ...traceHeader(headerPrefix),
      ...(status === 401 && { 'WWW-Authenticate': reference('headers', 'Challenge') }),
      ...(status === 409 && { 'Retry-After': reference('headers', 'RetryAfterFirst') }),
      ...((status === 429 || status === 503) && { 'Retry-After': reference('headers', 'RetryAfter') }),
    },
    content: {
      'application/problem+json': { schema: reference('schemas', 'Problem'), examples: Object.fromEntries(examples) },
    },
  };
}

/** Returns the name of the response for a status, such as `NotFound` for 404. */
export function responseName(status: ProblemStatus): string {
  return TITLES[status].replaceAll(' ', '');
}

/** Returns the headers of every response. */
export function traceHeader(headerPrefix: string): OpenApiNode {
  return { [`${headerPrefix}-TRACE-ID`]: reference('headers', 'TraceId') };
}
