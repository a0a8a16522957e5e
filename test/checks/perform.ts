import type { Call, Client, Reply } from '../../src/contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../src/contract/operations.ts';
import { parseJson } from '../../src/core/json/parse.ts';
import { PROBLEM_VALIDATOR, RESULT_VALIDATORS } from '../../src/core/result-validators.generated.js';

export interface Performed {
  readonly status: number;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly list: readonly unknown[];
  readonly replayed?: true | undefined;
}

export interface PerformParts {
  readonly id?: string;
  readonly keyId?: string;
  readonly query?: string;
  readonly body?: object;
  readonly bodyText?: string;
  readonly idempotencyKey?: string;
  readonly traceId?: string;
}

/** Calls an operation. Rejects when the reply is invalid: a 5xx other than 503, or a body that violates its schema. */
export type Perform = (key: string, operation: OperationId, parts?: PerformParts) => Promise<Performed>;

/** The body of an application with all token permissions and `reveal` on everything. */
export const EVERYTHING = {
  name: 'everything',
  type: 'private',
  rules: [
    {
      ...{ description: '', priority: 1, container: '/', transform: 'reveal' },
      permissions: ['token:create', 'token:read', 'token:update', 'token:delete'],
    },
  ],
} as const;

/** The status of a daemon that may answer later. */
const BUSY: readonly number[] = [503];

/** Creates a caller. Calls `client` each time, as the daemon may have restarted. `faults` are valid 5xx. */
export function createCaller(client: () => Client, faults = BUSY): Perform {
  return async (
    apiKey,
    operation,
    { id, keyId, query = '', body, bodyText = body && JSON.stringify(body), idempotencyKey, traceId } = {},
  ) => {
    const row: Operation = OPERATIONS[operation];
    const call: Call = {
      operation,
      apiKey,
      params: paramsOf(row, { id, key_id: keyId }),
      query: [...new URLSearchParams(query)],
      idempotencyKey,
      traceId,
      ...(bodyText !== undefined && { bodyText, mediaType: row.mediaType ?? 'application/json' }),
    };
    const reply = await client().call(call);
    const flaws = faults.includes(reply.status) ? [] : replyFlaws(call, reply);
    if (flaws.length > 0) throw new Error(flaws.join('; '));
    const text = reply.bodyText ?? '';
    const parsed = text === '' ? {} : JSON.parse(text);
    const list = Array.isArray(parsed) ? parsed : [];
    return { status: reply.status, text, body: parsed, list, replayed: reply.replayed };
  };
}

function paramsOf({ params }: Operation, values: Readonly<Record<string, string | undefined>>) {
  const names = Object.keys(params?.properties ?? {}).filter((name) => values[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, values[name] ?? '']));
}

export async function inParallel(count: number, width: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker));
}

/** Returns a generator of numbers in [0, 1). The same seed gives the same sequence (mulberry32). */
export function seededNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the value below which the given share of the numbers lies, rounded to tenths. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return Math.round(value * 10) / 10;
}

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
