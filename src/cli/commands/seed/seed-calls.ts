import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Client, Reply } from '../../../contract/call.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../../contract/operations.ts';
import { PROBLEMS } from '../../../contract/problems.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { memberLines, Problem } from '../../../core/problem.ts';
import { asObject, objectOf } from '../../output/result-view.ts';
import type { SourcePosition } from './seed-document.ts';
import { invalidSeed } from './seed-flaws.ts';

/** The parts of an API call besides its operation. */
export interface CallParts {
  readonly id?: string;
  readonly query?: Readonly<Record<string, readonly string[]>>;
  readonly body?: { readonly [name: string]: Printable };
  /** The position of the item that causes the call; the errors of members name it. */
  readonly position?: SourcePosition;
}

/** Calls an operation with one API key and resolves to the body of the reply. Rejects with the problem of the reply. */
export type SeedCalls = (operation: OperationId, parts?: CallParts) => Promise<JsonObject>;

/** Returns a function that calls operations with a key. */
export function seedCalls(client: Client, apiKey: string): SeedCalls {
  return async (operation, { id, query = {}, body, position } = {}) => {
    const row: Operation = OPERATIONS[operation];
    const reply = await client.call({
      operation,
      apiKey,
      params: id === undefined ? {} : { id },
      query: Object.entries(query).flatMap(([name, values]) => values.map((value) => [name, value] as const)),
      ...(body !== undefined && { mediaType: row.mediaType ?? 'application/json', bodyText: stringifyJson(body) }),
    });
    if (reply.status >= 400) throw problemOf(reply, position);
    return objectOf(reply.bodyText);
  };
}

function problemOf(reply: Reply, position: SourcePosition = (member = '') => member): Problem {
  const { code, detail = '', errors } = decodeProblem(reply.bodyText) ?? {};
  const known = code !== undefined && Object.hasOwn(PROBLEMS, code) ? code : 'internal_error';
  const { traceId } = reply;
  if (errors === undefined) return new Problem(known, { detail, traceId });
  const located = Object.entries(errors).map(([member, messages]) => [position(member), messages] as const);
  return new Problem(known, { detail, errors: Object.fromEntries(located), traceId });
}

/** Returns the items in `data` of a reply. */
export const recordsOf = ({ data }: JsonObject): readonly JsonObject[] =>
  (Array.isArray(data) ? data : []).map((item) => asObject(item) ?? {});

/** Splits items into batches of at most `maxItems` items and `maxSize` in all; a single item may be larger. */
export function batchesOf<T>(
  items: readonly T[],
  maxItems: number,
  maxSize: number,
  sizeOf: (item: T) => number,
): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const own = sizeOf(item);
    size += own;
    if (size > maxSize || batches.at(-1)?.length === maxItems) [size] = [own, batches.push([])];
    batches.at(-1)?.push(item);
  }
  return batches;
}

/**
 * Runs `work` for the items in order, `atOnce` at a time. Collects the members that the vault rejects as invalid, and
 * stops at any other failure. Rejects with that failure, or with the fault `invalid_data`, which names all invalid
 * members.
 */
export async function eachItem<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const lines: string[] = [];
  for (let at = 0; at < items.length; at += atOnce) {
    for (const ended of await Promise.allSettled(items.slice(at, at + atOnce).map(work))) {
      const error: unknown = ended.status === 'rejected' ? ended.reason : undefined;
      if (error instanceof Problem && error.code === 'invalid_request' && error.errors)
        lines.push(...memberLines(error.errors));
      else if (error !== undefined) throw error;
    }
  }
  if (lines.length > 0) throw invalidSeed(lines);
}
