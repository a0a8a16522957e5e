import type { Json, JsonObject } from '../../../contract/json.ts';
import { TOKEN_TYPES, type TokenType, type TokenTypeRow } from '../../../contract/token-types.ts';
import { Fault } from '../../../core/fault.ts';
import { isJsonObject, memberNames, objectOfMembers } from '../../../core/json/kind.ts';
import { isSameJson, stringifyJson } from '../../../core/json/stringify.ts';
import { memberLines, Problem } from '../../../core/problem.ts';
import { normalizeContainers } from '../../../core/tokens/containers.ts';
import { parseExpiresAt } from '../../../core/tokens/expires-at.ts';
import { applyMergePatch } from '../../../core/tokens/merge-patch.ts';
import { compareItem, type SeedChange } from './compare-item.ts';
import { batchesOf, eachItem, recordsOf, type SeedCalls } from './seed-calls.ts';
import type { SeedToken } from './seed-document.ts';

/** The maximum numbers of tokens and characters in a batch of new tokens. The API accepts larger bodies. */
const BATCH_TOKENS = 200;
const BATCH_CHARACTERS = 256 * 1024;
/** The number of concurrent batches. The vault prepares one while it writes another. */
const BATCHES_AT_ONCE = 3;
/** The number of concurrent patches. Writes that arrive together share a commit. */
const PATCHES_AT_ONCE = 16;
/** The maximum numbers of ids and of their encoded characters in a query. A daemon accepts a URL of 8 KiB. */
const QUERY_IDS = 50;
const QUERY_CHARACTERS = 6_000;

/** A token of the seed, the body of its create request, and how it differs from that in the vault. */
interface ComparedToken {
  readonly token: SeedToken;
  readonly body: JsonObject;
  readonly live: JsonObject | undefined;
  readonly change: SeedChange;
}

/** Compares tokens with those of the same ids. Unless it is a dry run, creates what is missing and patches the others. */
export async function applyTokens(
  tokens: readonly SeedToken[],
  calls: SeedCalls,
  appIds: ReadonlyMap<string, string>,
  dryRun: boolean,
): Promise<readonly SeedChange[]> {
  const found = await findTokens(calls, tokens);
  const compared = tokens.map((token) => compareToken(token, token.body(appIds), found.get(token.id)));
  const due = (action: SeedChange['action']) => compared.filter(({ change }) => !dryRun && change.action === action);
  const size = ({ body }: ComparedToken): number => stringifyJson(body).length;
  const batches = batchesOf(due('create'), BATCH_TOKENS, BATCH_CHARACTERS, size);
  await eachItem(batches, BATCHES_AT_ONCE, (batch) => createTokens(batch, calls));
  await eachItem(due('change'), PATCHES_AT_ONCE, (one) => patchToken(one, calls));
  return compared.map(({ change }) => change);
}

async function findTokens(calls: SeedCalls, tokens: readonly SeedToken[]): Promise<ReadonlyMap<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  const size = ({ id }: SeedToken): number => encodeURIComponent(id).length + '&id='.length;
  for (const batch of batchesOf(tokens, QUERY_IDS, QUERY_CHARACTERS, size)) {
    const query = { id: batch.map(({ id }) => id), size: [String(QUERY_IDS)] };
    for (const token of recordsOf(await calls('listTokens', { query }))) found.set(String(token['id']), token);
  }
  return found;
}

function compareToken(token: SeedToken, body: JsonObject, live: JsonObject | undefined): ComparedToken {
  const { id, type, position } = token;
  if (live !== undefined && live['type'] !== type) {
    const fact = `the token ${id} has the type ${String(live['type'])}, which cannot change`;
    throw new Fault('conflict', `${position('type')}: ${fact}`, { hint: 'give the item another `id:`' });
  }
  const change = compareItem(`tokens.${id}`, normalizedToken(body), live && normalizedToken(live));
  if (change.action === 'change') {
    // In a merge patch null removes a member (RFC 7396 §2).
    for (const [name, before] of [['data', live?.['data']] as const, ['mask', undefined] as const]) {
      const wanted = body[name] ?? null;
      if (isSameJson(applyMergePatch(before, patchTo(before, wanted)), wanted)) continue;
      const fact = `${position(name)}: an update cannot set null inside an object`;
      throw new Fault('invalid_data', fact, { hint: 'give the item another `id:`' });
    }
  }
  return { token, body, live, change };
}

/** Creates all tokens of a batch or none. */
async function createTokens(batch: readonly ComparedToken[], calls: SeedCalls): Promise<void> {
  const position = (path = ''): string => {
    const [, at, ...member] = path.split('.');
    return batch[Number(at)]?.token.position(member.join('.')) ?? path;
  };
  const created = await calls('tokenize', { body: { data: batch.map(({ body }) => body) }, position }).catch(
    throwTaken,
  );
  for (const [at, { id }] of recordsOf(created).entries()) {
    const token = batch[at]?.token;
    if (token === undefined || token.id === id) continue;
    const fact = `the tenant deduplicates tokens, and ${String(id)} has the same content`;
    throw new Fault('conflict', `${token.position()}: ${fact}`);
  }
}

/** Throws the error. Adds a hint to `token_id_taken`: the ids of deleted tokens stay taken (decisions §5). */
function throwTaken(error: unknown): never {
  if (!(error instanceof Problem) || error.code !== 'token_id_taken') throw error;
  throw new Fault('conflict', 'the ids of some tokens are taken', {
    details: memberLines(error.errors),
    hint: 'ids of deleted and expired tokens stay taken: give the item another `id:`, or free them with `vault dev reset`',
  });
}

/**
 * Makes a token match the seed, with the defaults of its type. An object as the mask takes two patches: one would merge
 * it into the stored mask, which no read returns.
 */
async function patchToken(
  { token: { id, type, position }, body, live }: ComparedToken,
  calls: SeedCalls,
): Promise<void> {
  const row: TokenTypeRow = TOKEN_TYPES[type];
  const mask = body['mask'] ?? row.mask ?? null;
  const deduplicate = body['deduplicate_token'];
  if (isJsonObject(mask)) await calls('updateToken', { id, body: { mask: null }, position });
  const patch = {
    data: patchTo(live?.['data'], body['data'] ?? null),
    metadata: patchTo(live?.['metadata'], body['metadata'] ?? null),
    containers: body['containers'] ?? null,
    expires_at: body['expires_at'] ?? null,
    mask,
    search_indexes: body['search_indexes'] ?? row.search_indexes ?? null,
    fingerprint_expression: body['fingerprint_expression'] ?? null,
    ...(deduplicate !== undefined && { deduplicate_token: deduplicate }),
  };
  await calls('updateToken', { id, body: patch, position });
}

/** Returns the merge patch that turns `live` into `wanted`, without the members that are equal. */
function patchTo(live: Json | undefined, wanted: Json): Json {
  if (!isJsonObject(live) || !isJsonObject(wanted)) return wanted;
  const differing = memberNames(wanted).filter(
    (name) => !Object.hasOwn(live, name) || !isSameJson(live[name] ?? null, wanted[name] ?? null),
  );
  const gone = memberNames(live).filter((name) => !Object.hasOwn(wanted, name));
  return objectOfMembers(
    new Map<string, Json>([
      ...differing.map((name) => [name, patchTo(live[name], wanted[name] ?? null)] as const),
      ...gone.map((name) => [name, null] as const),
    ]),
  );
}

/** Returns the members of a token to compare, in the same form for a seed file and for a reply of the API. */
function normalizedToken({ type, data, containers, metadata, expires_at }: JsonObject): JsonObject {
  const written = (containers ?? [TOKEN_TYPES[type as TokenType].container]) as readonly string[];
  return {
    data: data ?? null,
    containers: normalizeContainers(written),
    metadata: metadata ?? {},
    expires_at: typeof expires_at === 'string' ? parseExpiresAt(expires_at, -Infinity).text : null,
  };
}
