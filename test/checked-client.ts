import { expect } from 'vitest';
import type { Call, Client, Reply } from '../src/contract/call.ts';
import { OPERATIONS, type Operation } from '../src/contract/operations.ts';
import { parseJson } from '../src/core/json/parse.ts';
import { PROBLEM_VALIDATOR, RESULT_VALIDATORS } from '../src/core/result-validators.generated.js';

/** Checks a reply against its row: the status, and the body against the result or problem schema. */
function checkReply(call: Call, reply: Reply): Reply {
  const row: Operation = OPERATIONS[call.operation];
  if (reply.status >= 400) {
    const body = parseJson(reply.bodyText ?? '');
    expect(PROBLEM_VALIDATOR(body), JSON.stringify(PROBLEM_VALIDATOR.errors)).toBe(true);
    expect(body).toMatchObject({ status: reply.status, instance: reply.traceId });
    return reply;
  }
  expect(reply.status).toBe(row.status);
  const validator = RESULT_VALIDATORS[call.operation];
  expect(reply.bodyText === undefined).toBe(validator === undefined);
  if (validator) {
    expect(validator(parseJson(reply.bodyText ?? '')), JSON.stringify(validator.errors)).toBe(true);
  }
  return reply;
}

/** Returns a client that checks every reply against its row. */
export function checkedClient(client: Client): Client {
  return {
    call: async (call) => checkReply(call, await client.call(call)),
    close: () => client.close(),
  };
}
