import type { Call, Reply } from '../../src/contract/call.ts';
import { OPERATIONS, type Operation } from '../../src/contract/operations.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { PROBLEM_VALIDATOR, RESULT_VALIDATORS } from '../../src/core/result-validators.generated.js';

/** Returns what is wrong with a reply: its status, or a body that violates the schema of the result or problem. */
export function replyFlaws(call: Call, { status, bodyText, traceId }: Reply): readonly string[] {
  const row: Operation = OPERATIONS[call.operation];
  const body = bodyText === undefined ? undefined : parseJson(bodyText);
  if (status >= 400) {
    if (body === undefined || !PROBLEM_VALIDATOR(body)) return [`${status} is not a problem`];
    const { status: inBody, instance } = body as { readonly status?: unknown; readonly instance?: unknown };
    return [
      ...(status >= 500 ? [`${status}: ${bodyText}`] : []),
      ...(Number(String(inBody)) === status ? [] : [`status ${status}, the body has ${String(inBody)}`]),
      ...(instance === traceId ? [] : ['instance is not the trace id']),
    ];
  }
  if (status !== row.status) return [`${call.operation} succeeds with ${row.status}, not ${status}`];
  const validator = RESULT_VALIDATORS[call.operation];
  if (!validator) return body === undefined ? [] : ['a body where there is none'];
  return body !== undefined && validator(body) ? [] : [`not a result of ${call.operation}: ${bodyText}`];
}
