import type { Transform } from '../../contract/permissions.ts';
import type { CreateToken, Token, TokenPreview } from '../../contract/token.ts';
import { TOKEN_TYPES, type TokenTypeRow } from '../../contract/token-types.ts';
import { type Grants, governingTransform, reachesEveryContainer } from '../access/grants.ts';
import { evaluateExpression, loadFilters } from '../expressions/expressions.ts';
import { budgetFor, type WorkBudget } from '../expressions/limits.ts';
import type { Caller, Context, Handler, ReplyBody } from '../handler.ts';
import type { InsertTokenOutcome, NewToken } from '../insert-ports.ts';
import { JsonText, stringifyJson } from '../json/stringify.ts';
import type { Instant, Random, TokenIndexes, TokenRecord } from '../ports.ts';
import { invalid, Problem, throwIf } from '../problem.ts';
import { type Steps, settled } from '../steps.ts';
import { monthOf } from './activity.ts';
import { recordColumns } from './clear-columns.ts';
import { normalizeContainers } from './containers.ts';
import { checkSyntax, deriveNow, evaluateDefinition, naming } from './derive.ts';
import { parseExpiresAt } from './expires-at.ts';
import { fingerprintsOf, requireFingerprint } from './indexes.ts';
import { checkDefinitionSize } from './patched-expressions.ts';
import { showToken } from './present-token.ts';
import { DEFAULT_FINGERPRINT, decodeDefinition, openPresented, sealToken } from './token-codec.ts';
import { checkTokenId } from './token-id.ts';
import { checkData, printData } from './validate-data.ts';

/** The maximum number of random aliases to try before a UUID is assigned (decisions §5). */
const MAX_ALIASES = 10;

/** Create Token (§4.1). */
export const createToken: Handler<'createToken'> = function* ({ body }, caller, context) {
  yield* settled(loadFiltersOf(body));
  const slice = caller.work.next();
  if (slice !== undefined) yield slice;
  const { seal, ids, indexes, deduplicate } = prepareToken(body, caller, context);
  for (const id of ids) {
    const { record, reply } = seal(id);
    const result = yield* insert({ token: record, indexes, deduplicate }, caller, context);
    if (result.outcome === 'inserted') return reply;
    if (result.outcome === 'duplicate') {
      const duplicate = showDuplicate(caller, context, result.token, indexes);
      caller.recorder.shown([result.token.id], false);
      return duplicate;
    }
  }
  throw new Problem('token_id_taken');
};

/** Inserts a token, together with the others of its tick unless it needs a search for duplicates. */
function* insert(
  newToken: NewToken,
  { recorder }: Caller,
  { ticks, store, clock }: Context,
): Steps<InsertTokenOutcome> {
  const { token, indexes, deduplicate } = newToken;
  const { now: tick } = ticks;
  if (tick !== undefined && !deduplicate) {
    // A call with an idempotency key, whose reply is stored with its change, has left the tick.
    const isInserted = yield* settled(tick.insert(newToken, recorder.change([token.id], token.revision)));
    if (isInserted) return { outcome: 'inserted' };
  }
  const audit = recorder.changed([token.id], token.revision);
  return yield* settled(store.insertToken(token, indexes, { deduplicate, now: clock.cutoff() }, audit));
}

/** Returns whether a create or an update looks for a duplicate. */
export function isDeduplicated(
  { deduplicate_token }: { readonly deduplicate_token?: boolean | null },
  { tenant }: Caller,
): boolean {
  return deduplicate_token ?? tenant.details.settings.deduplicate_tokens === 'true';
}

/** Loads the code of the filters of a token. Returns undefined when nothing must be loaded. */
export function loadFiltersOf({ id, mask, search_indexes, fingerprint_expression }: CreateToken) {
  return loadFilters(id, mask, search_indexes, fingerprint_expression);
}

/** Returns the transform of a token created in these containers; undefined when the caller may not create it. */
export type ContainerVisibility = (containers: readonly string[]) => Transform | undefined;

/** Returns the function that finds the transform of a created token. Rules for creating compare only containers. */
export function containerVisibility(grants: Grants): ContainerVisibility {
  return (containers) => {
    const token = { id: '', containers };
    const isReached = reachesEveryContainer(grants, 'token:create', token);
    return isReached ? governingTransform(grants, 'token:create', token) : undefined;
  };
}

/**
 * Derives everything that does not depend on the token's id, after `loadFiltersOf`. The caller tries `ids` in order. The
 * returned `seal` throws 403 when no rule matches the token.
 */
export function prepareToken(
  body: CreateToken,
  caller: Caller,
  context: Context,
  visibleAs = containerVisibility(caller.grants),
) {
  const { tenant, application, work: call } = caller;
  const now = context.clock.now();
  const { token, expiry } = readNewToken(body, now);
  const { type, containers } = token;
  const { keyring } = tenant;
  const work = budgetFor(token.dataText, call.steps);
  const { contents, indexes, foundBy } = deriveNow(keyring, token, { budget: work });

  function seal(id: string) {
    const unsealed = {
      id,
      tenant_id: tenant.record.id,
      type,
      created_by: application.record.id,
      created_at: now,
      expires_at: expiry?.instant,
      revision: 1,
      active_month: monthOf(now),
    };
    const record = sealToken(keyring, unsealed, contents);
    const transform = visibleAs(containers);
    if (transform === undefined) throw new Problem('no_governing_rule');
    const { details, definition, masked } = contents;
    // A reply to a create shows no more than the mask, whatever the transform (§4.1, decisions §6).
    const shown = transform === 'redact' || masked === undefined ? undefined : new JsonText(masked);
    return { record, reply: showToken(unsealed, details, shown, definition) };
  }

  return { seal, indexes, foundBy, ids: idsOf(body, context, work), deduplicate: isDeduplicated(body, caller) };
}

/** Returns the token of a request, before anything is derived from it. Throws `invalid_request`. */
function readNewToken(body: CreateToken, now: Instant) {
  checkData(body.type, body.data);
  const dataText = printData(body.data);
  const expiry = body.expires_at === undefined ? undefined : parseExpiresAt(body.expires_at, now);
  const defaults: TokenTypeRow = TOKEN_TYPES[body.type];
  // Use the type's defaults for members that the request omits (decisions §3).
  const definition = {
    mask: body.mask === undefined ? defaults.mask : body.mask,
    search_indexes: body.search_indexes ?? defaults.search_indexes,
    fingerprint_expression: body.fingerprint_expression ?? DEFAULT_FINGERPRINT,
    without_result: body.without_result,
  };
  const { type, data, metadata } = body;
  if (body.mask !== undefined) checkDefinitionSize(body, definition, metadata);
  if (body.without_result !== undefined) checkSyntax(body);
  const containers = normalizeContainers(body.containers ?? [defaults.container]);
  return { token: { type, data, dataText, containers, metadata, expires_at: expiry?.text, definition }, expiry };
}

/** Checks a request as far as possible without a vault. Rejects with `invalid_request`. */
export async function checkNewToken(body: CreateToken, now: Instant, random: Random): Promise<void> {
  await loadFiltersOf(body);
  const { token } = readNewToken(body, now);
  const budget = budgetFor(token.dataText);
  evaluateDefinition(token, { budget });
  idsOf(body, { random }, budget).next();
}

/** Yields the ids to try, in order: a given id, an assigned one, or aliases until one is free (decisions §5). */
function* idsOf({ id, data }: CreateToken, context: Pick<Context, 'random'>, work: WorkBudget): Generator<string> {
  if (id?.includes('{{') !== true) {
    yield id === undefined ? context.random.timeOrderedId() : checkedId(id);
    return;
  }
  const tried = new Set<string>();
  for (let tries = 0; tries < MAX_ALIASES; tries++) {
    const value = naming('id', () => evaluateExpression(id, { data }, { random: context.random, work }));
    if (value === null) throw invalid('id', 'must not have an empty result');
    const alias = checkedId(typeof value === 'string' ? value : stringifyJson(value));
    if (tried.has(alias)) continue;
    tried.add(alias);
    yield alias;
  }
  // If all aliases were equal, the expression is not random, and its id is taken.
  if (tried.size > 1) yield context.random.timeOrderedId();
}

function checkedId(id: string): string {
  const message = checkTokenId(id);
  if (message) throw invalid('id', message);
  return id;
}

/**
 * Returns the oldest token with the same fingerprint. A caller that cannot read this token gets only its identity, and
 * at most 100 times a minute (decisions §7).
 */
export function showDuplicate(
  caller: Caller,
  context: Context,
  record: TokenRecord,
  indexes: TokenIndexes,
): ReplyBody<Token> {
  const { account, tenant, grants } = caller;
  const { keyring } = tenant;
  const { id, type, tenant_id } = record;
  const columns = recordColumns(record);
  const { details, masked, definitionText } = openPresented(keyring, id, record, columns);
  const { containers, fingerprint } = details;
  requireFingerprint(keyring, record, fingerprint, fingerprintsOf(indexes));
  const transform = governingTransform(grants, 'token:read', { id, containers });
  if (!transform) throwIf(context.limitUnreadDuplicates(account));
  if (!transform) return { id, type, tenant_id, fingerprint, containers };
  const isShown = transform !== 'redact' && masked !== undefined;
  const definition = decodeDefinition(type, definitionText);
  return showToken({ id, tenant_id, ...columns }, details, isShown ? new JsonText(masked) : undefined, definition);
}

/**
 * Returns the reply that Create Token would return, and the texts that would find the token. Reads and stores no token,
 * so a preview reports neither a taken id nor a duplicate: both would reveal tokens that the caller cannot read.
 */
export const previewToken: Handler<'previewToken'> = async ({ body }, caller, context) => {
  await loadFiltersOf(body);
  const slice = caller.work.next();
  if (slice !== undefined) await slice;
  const { seal, ids, foundBy } = prepareToken(body, caller, context);
  const { fingerprint, ...reply } = seal(ids.next().value).reply;
  return { ...reply, id_is: kindOf(body), ...foundBy };
};

function kindOf({ id }: CreateToken): TokenPreview['id_is'] {
  if (id === undefined) return 'assigned';
  return id.includes('{{') ? 'sample' : 'given';
}
