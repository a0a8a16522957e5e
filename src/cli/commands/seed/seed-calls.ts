import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Client, Reply } from '../../../contract/call.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../../contract/operations.ts';
import { PROBLEMS } from '../../../contract/problems.ts';
import { parseJson } from '../../../core/json/parse.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { Problem } from '../../../core/problem.ts';
import { asObject } from '../../output/result-view.ts';
import type { Place } from './seed-document.ts';

/** What a call of a seed says besides its operation. */
export interface CallParts {
  readonly id?: string;
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly body?: JsonObject | { readonly [name: string]: Printable };
  /** Of the item that the call is for; problems are told with it. */
  readonly place?: Place | undefined;
}

/** Calls with one key, and answers bodies. */
export type SeedCalls = (operation: OperationId, parts?: CallParts) => Promise<JsonObject>;

/** Throws the problem of the reply, its members named by where they stand in the seed file. */
export function seedCalls(client: Client, apiKey: string): SeedCalls {
  return async (operation, { id, query = [], body, place } = {}) => {
    const row: Operation = OPERATIONS[operation];
    const reply = await client.call({
      operation,
      apiKey,
      params: id === undefined ? {} : { id },
      query,
      ...(body !== undefined && {
        mediaType: row.mediaType ?? 'application/json',
        bodyText: stringifyJson(body as Printable),
      }),
    });
    if (reply.status >= 400) throw problemOf(reply, place);
    return (reply.bodyText === undefined ? undefined : asObject(parseJson(reply.bodyText))) ?? {};
  };
}

function problemOf(reply: Reply, place: Place | undefined): Problem {
  const { code, detail = '', errors } = decodeProblem(reply.bodyText) ?? {};
  const known = code !== undefined && Object.hasOwn(PROBLEMS, code) ? code : 'internal_error';
  if (errors === undefined)
    return new Problem(known, { detail: place === undefined ? detail : `${place()}: ${detail}` });
  const placed = Object.entries(errors).map(([member, messages]) => [place?.(member) ?? member, messages] as const);
  return new Problem(known, { detail, errors: Object.fromEntries(placed) });
}

/** Every item of a list, by pages. */
export async function listEvery(
  calls: SeedCalls,
  operation: 'listApplications' | 'listTokens',
  query: readonly (readonly [name: string, value: string])[] = [],
): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = [];
  for (let page = 1; ; page++) {
    const answer = await calls(operation, { query: [...query, ['size', '100'], ['page', String(page)]] });
    const data = answer['data'] as readonly Json[];
    for (const item of data) items.push(asObject(item) ?? {});
    if (data.length < 100) return items;
  }
}

const IDS_OF_A_QUERY = 50;
/** Of encoded ids: what a daemon takes for a URL is 8 KiB. */
const LETTERS_OF_A_QUERY = 6_000;

/** The tokens of these ids that there are, by id. */
export async function findTokens(calls: SeedCalls, ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  let batch: string[] = [];
  let letters = 0;
  const fetchBatch = async () => {
    if (batch.length === 0) return;
    const query = batch.map((id) => ['id', id] as const);
    for (const token of await listEvery(calls, 'listTokens', query)) found.set(String(token['id']), token);
    batch = [];
    letters = 0;
  };
  for (const id of ids) {
    const length = encodeURIComponent(id).length + 4;
    if (batch.length === IDS_OF_A_QUERY || letters + length > LETTERS_OF_A_QUERY) await fetchBatch();
    batch.push(id);
    letters += length;
  }
  await fetchBatch();
  return found;
}
