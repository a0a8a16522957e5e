import type { Json } from '../../contract/json.ts';
import { MAX_BATCH } from '../../contract/limits.ts';
import { CREATE_TOKEN, type Token } from '../../contract/token.ts';
import type { Caller, Context, Handler, ReplyBody } from '../handler.ts';
import type { InsertObstacle } from '../insert-ports.ts';
import { isJsonArray, isJsonObject, memberNames } from '../json/kind.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { Replay } from '../replay.ts';
import { collectErrors, createErrors, mapJson, printBatch } from '../request/batch.ts';
import { loadBodyValidators, validateBody } from '../request/validate.ts';
import { type ContainerVisibility, containerVisibility, loadFiltersOf, prepareToken, showDuplicate } from './create.ts';
import { showCreatedNow } from './replay.ts';

/** A token request and its path in the body. */
interface TokenRequest {
  readonly path: string;
  readonly body: Json;
}

/** A token request with its prepared token, sealed under the id to try, or with its duplicate. */
interface Member extends TokenRequest {
  readonly prepared: ReturnType<typeof prepareToken>;
  sealed: ReturnType<Member['prepared']['seal']>;
  duplicate?: { readonly id: string; readonly revision: number; readonly reply: ReplyBody<Token> } | undefined;
}

/** The bytes of the masks and replies of one batch, which are made before its commit. */
const BATCH_BYTES = 32 * 1024 * 1024;

/** Tokenize: runs Create Token for each request in the body. Stores all tokens in one commit, or none. */
export const tokenize: Handler<'tokenize'> = async (request, caller, context) => {
  await caller.work.hold(BATCH_BYTES);
  const { body } = request;
  const members = await prepareAll(findRequests(body), caller, context);
  return insertAll(body, members, caller, context);
};

/** Answers a retry of Tokenize, whose body has the structure of the reply. */
export const replayTokenize: Replay<'tokenize'> = async (found, request, caller, context) => {
  await caller.work.hold(context.limits.response);
  const tokens = await showCreatedNow(found, caller, context);
  if (tokens === undefined) return undefined;
  const { body } = request;
  const replies = findRequests(body).map((each, at) => [each.body, tokens[at]] as const);
  return render(body, new Map(replies), context);
};

/** Stores the members that are no duplicates, and returns the reply. */
async function insertAll(body: Json, members: readonly Member[], caller: Caller, context: Context): Promise<JsonText> {
  for (;;) {
    // Render the reply before the commit: a reply that is too large must leave nothing in the store.
    const replies = members.map(({ body, duplicate, sealed }) => [body, duplicate?.reply ?? sealed.reply] as const);
    const reply = render(body, new Map(replies), context);
    // The next batch of the account is prepared during this commit.
    await caller.work.hold(reply.text.length);
    const added = members.filter(({ duplicate }) => duplicate === undefined);
    if (added.length > 0) {
      const tokens = added.map(({ sealed: { record }, prepared: { indexes, deduplicate } }) => {
        return { token: record, indexes, deduplicate };
      });
      const entities = tokens.map(({ token }) => token.id);
      const audit = caller.recorder.changed(entities, 1, {
        ids: members.map(({ duplicate, sealed }) => duplicate?.id ?? sealed.record.id),
        found: Object.fromEntries(
          members.flatMap(({ duplicate }, at) => (duplicate ? [[at, duplicate.revision]] : [])),
        ),
      });
      const obstacles = await context.store.insertTokens(tokens, context.clock.cutoff(), audit);
      if (obstacles.length > 0) {
        overcome(obstacles, added, members, caller, context);
        continue;
      }
    }
    const duplicates = members.flatMap(({ duplicate }) => duplicate?.id ?? []);
    if (duplicates.length > 0) caller.recorder.shown(duplicates, false);
    return reply;
  }
}

/**
 * Returns the token requests in a body. Throws `invalid_request` for values that are not requests, for empty arrays and
 * objects, and for too many requests.
 */
export function findRequests(body: Json): readonly TokenRequest[] {
  const requests: TokenRequest[] = [];
  const wrong = createErrors('invalid_request');
  mapJson(body, (value, path) => {
    const isObject = isJsonObject(value);
    if (isObject && Object.hasOwn(value, 'type') && Object.hasOwn(value, 'data')) {
      requests.push({ path, body: value });
      return value;
    }
    if (isObject ? memberNames(value).length > 0 : isJsonArray(value) && value.length > 0) return undefined;
    wrong.add(path, 'must be a token request: an object with type and data');
    return value;
  });
  if (requests.length > MAX_BATCH) wrong.add('', `must have at most ${MAX_BATCH} token requests`);
  wrong.throwIfAny();
  return requests;
}

/**
 * Prepares a token for each request. Reports all invalid requests together; if there are none, reports the requests
 * that no rule allows.
 */
async function prepareAll(
  requests: readonly TokenRequest[],
  caller: Caller,
  context: Context,
): Promise<readonly Member[]> {
  const bodies = await loadBodyValidators();
  const visibleAs = memoized(containerVisibility(caller.grants));
  const wrong = createErrors('invalid_request');
  const unreached = createErrors('no_governing_rule');
  const members: Member[] = [];
  for (const { path, body } of requests) {
    if (wrong.isFull) break;
    try {
      const valid = validateBody('createToken', CREATE_TOKEN, body, bodies);
      const loading = loadFiltersOf(valid);
      if (loading !== undefined) await loading;
      const slice = caller.work.next();
      if (slice !== undefined) await slice;
      const prepared = prepareToken(valid, caller, context, visibleAs);
      members.push({ path, body, prepared, sealed: prepared.seal(prepared.ids.next().value) });
    } catch (error) {
      collectErrors(path, error, wrong, unreached);
    }
  }
  wrong.throwIfAny();
  unreached.throwIfAny();
  return members;
}

/** Returns `visibleAs` with a cache, because the requests of a batch have few distinct container lists. */
function memoized(visibleAs: ContainerVisibility): ContainerVisibility {
  const known = new Map<string, ReturnType<ContainerVisibility>>();
  return (containers) => {
    const key = containers.join(' ');
    if (!known.has(key)) known.set(key, visibleAs(containers));
    return known.get(key);
  };
}

/**
 * Resolves the obstacles of a failed insert: takes the next alias for a taken id, or uses the duplicate that was found.
 * Throws `token_id_taken` when no alias is left.
 */
function overcome(
  obstacles: readonly InsertObstacle[],
  added: readonly Member[],
  members: readonly Member[],
  caller: Caller,
  context: Context,
): void {
  const taken = createErrors('token_id_taken');
  for (const { at, duplicate } of obstacles) {
    const member = added[at] as Member;
    const { prepared } = member;
    // Members that were duplicates of this token lose it: the token gets another id, or becomes a duplicate itself. The
    // next insert searches for their duplicates again.
    for (const other of members) if (other.duplicate?.id === member.sealed.record.id) other.duplicate = undefined;
    if (duplicate !== undefined) {
      const { id, revision } = duplicate;
      member.duplicate = { id, revision, reply: showDuplicate(caller, context, duplicate, prepared.indexes) };
      continue;
    }
    const next = prepared.ids.next();
    if (next.done) taken.add(member.path === '' ? 'id' : `${member.path}.id`, 'is taken');
    else member.sealed = prepared.seal(next.value);
  }
  taken.throwIfAny();
}

/** Returns the reply as text, with the tokens in place of their requests. Throws `result_too_large`. */
function render(body: Json, replies: ReadonlyMap<Json, ReplyBody<Token> | undefined>, { limits }: Context): JsonText {
  const reply = mapJson(body, (value) => {
    const token = replies.get(value);
    return token && new JsonText(stringifyJson(token));
  });
  return printBatch(reply, limits);
}
