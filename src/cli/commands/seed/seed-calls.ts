import { decodeProblem } from '../../../client/decode-problem.ts';
import type { Client, Reply } from '../../../contract/call.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { OPERATIONS, type Operation, type OperationId } from '../../../contract/operations.ts';
import { PROBLEMS } from '../../../contract/problems.ts';
import { parseJson } from '../../../core/json/parse.ts';
import { type Printable, stringifyJson } from '../../../core/json/stringify.ts';
import { Problem } from '../../../core/problem.ts';
import { asObject } from '../../output/result-view.ts';
import { selectField } from '../../output/select-field.ts';
import type { Place } from './seed-document.ts';

/** The parts of an API call besides its operation. */
export interface CallParts {
  readonly id?: string;
  readonly query?: Readonly<Record<string, readonly string[]>>;
  readonly body?: { readonly [name: string]: Printable };
  readonly idempotencyKey?: string | undefined;
  /** The place of the item that causes the call; problems name it. */
  readonly place?: Place | undefined;
}

/** Calls an operation with one API key and resolves to the body of the reply. */
export type SeedCalls = (operation: OperationId, parts?: CallParts) => Promise<JsonObject>;

/** Returns a function that calls operations with a key. It rejects with problems that name members as the file does. */
export function seedCalls(client: Client, apiKey: string): SeedCalls {
  return async (operation, { id, query = {}, body, idempotencyKey, place } = {}) => {
    const row: Operation = OPERATIONS[operation];
    const reply = await client.call({
      operation,
      apiKey,
      params: id === undefined ? {} : { id },
      query: Object.entries(query).flatMap(([name, values]) => values.map((value) => [name, value] as const)),
      idempotencyKey,
      ...(body !== undefined && { mediaType: row.mediaType ?? 'application/json', bodyText: stringifyJson(body) }),
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

/** Lists every application of the tenant, newest first. */
export async function listApplications(calls: SeedCalls): Promise<readonly JsonObject[]> {
  const apps: JsonObject[] = [];
  for (let page = 1; ; page++) {
    const answer = await calls('listApplications', { query: { size: ['100'], page: [String(page)] } });
    const found = itemsOf(answer);
    apps.push(...found);
    if (found.length < 100) return apps;
  }
}

/** Resolves to the ids of the tokens that an application made, in alphanumeric order. */
export async function findMadeBy(calls: SeedCalls, id: string): Promise<readonly string[]> {
  const ids: string[] = [];
  let start: Json | undefined;
  do {
    const body = { query: `created_by:${id}`, transform: 'redact', size: 100, ...(start !== undefined && { start }) };
    const answer = await calls('searchTokensByCursor', { body });
    ids.push(...itemsOf(answer).map((token) => String(token['id'])));
    start = selectField(answer, ['pagination', 'next']);
  } while (start !== undefined);
  return ids.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

const IDS_OF_A_QUERY = 50;
/** The maximum length of encoded ids: a daemon accepts a URL of 8 KiB. */
const MAX_QUERY_LETTERS = 6_000;

/** Resolves to the existing tokens with these ids, by id. */
export async function findTokens(calls: SeedCalls, ids: readonly string[]): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  for (const id of batchesOf(ids, IDS_OF_A_QUERY, MAX_QUERY_LETTERS, (one) => encodeURIComponent(one).length + 4)) {
    const answer = await calls('listTokens', { query: { id, size: [String(IDS_OF_A_QUERY)] } });
    for (const token of itemsOf(answer)) found.set(String(token['id']), token);
  }
  return found;
}

/** Splits items into batches of at most `most` items and `mostLetters` letters; a single item may have more letters. */
export function batchesOf<T>(
  items: readonly T[],
  most: number,
  mostLetters: number,
  lettersOf: (item: T) => number,
): readonly (readonly T[])[] {
  const batches: T[][] = [];
  let letters = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const own = lettersOf(item);
    letters += own;
    if (letters > mostLetters || batches.at(-1)?.length === most) [letters] = [own, batches.push([])];
    batches.at(-1)?.push(item);
  }
  return batches;
}

/** Returns the items in `data` of a reply. */
export const itemsOf = ({ data }: JsonObject): readonly JsonObject[] =>
  (Array.isArray(data) ? data : []).map((item: Json) => asObject(item) ?? {});
