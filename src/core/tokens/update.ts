import type { Json } from '../../contract/json.ts';
import { MAX_DATA } from '../../contract/limits.ts';
import type { Transform } from '../../contract/permissions.ts';
import type { Token, UpdateToken } from '../../contract/token.ts';
import { TOKEN_TYPES } from '../../contract/token-types.ts';
import {
  type Grants,
  governingTransform,
  maySetExpressions,
  reachesEveryContainer,
  revealsMore,
  type TokenFacts,
} from '../access/grants.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Caller, Context, Handler, ReplyBody } from '../handler.ts';
import { parseJson } from '../json/parse.ts';
import { JsonText } from '../json/stringify.ts';
import type { Instant, TokenRecord } from '../ports.ts';
import { invalid, Problem, throwIf } from '../problem.ts';
import { runSteps, settled } from '../steps.ts';
import { recordColumns } from './clear-columns.ts';
import { normalizeContainers } from './containers.ts';
import { isDeduplicated } from './create.ts';
import { checkSyntax, derive } from './derive.ts';
import { parseExpiresAt } from './expires-at.ts';
import { fingerprintsOf, hasFingerprint, requireFingerprint } from './indexes.ts';
import { applyMergePatch } from './merge-patch.ts';
import { checkDefinitionSize, EXPRESSIONS, namingStored, patchedExpressions } from './patched-expressions.ts';
import { sealedBytes, showToken } from './present-token.ts';
import { checkSentBack } from './sent-back.ts';
import {
  DEFAULT_FINGERPRINT,
  openPresented,
  openToken,
  type PresentedDetails,
  sealToken,
  type TokenContents,
  type TokenDefinition,
  type TokenDetails,
  type UnsealedToken,
} from './token-codec.ts';
import { checkData, printData } from './validate-data.ts';

const MAX_METADATA = 50;

/**
 * Update Token (§4.1): applies `data`, `mask` and `metadata` as merge patches (RFC 7396) and replaces the other
 * members.
 */
export const updateToken: Handler<'updateToken'> = async ({ params: { id }, body }, caller, context) => {
  checkPatch(body, context.clock.now());
  return untilSwapped(() => attempt(id, body, caller, context, isDeduplicated(body, caller)));
};

/**
 * Throws 400 for members that are invalid for every token, before the token is read (decisions §1, order of checks).
 */
export function checkPatch(body: UpdateToken, now: Instant): void {
  if (typeof body.expires_at === 'string') parseExpiresAt(body.expires_at, now);
  // A merge patch of `null` would replace the data, and no type accepts `null` (decisions §3).
  if (body.data === null) throw invalid('data', 'must not be null');
  checkMetadata(Object.values(body.metadata ?? {}).filter((value) => value !== null).length);
  checkSyntax(body);
}

function checkMetadata(members: number): void {
  if (members > MAX_METADATA) throw invalid('metadata', `must have at most ${MAX_METADATA} members`);
}

async function attempt(
  id: string,
  body: UpdateToken,
  caller: Caller,
  context: Context,
  deduplicate: boolean,
): Promise<ReplyBody<Token> | undefined> {
  const { tenant, grants, application, account, work } = caller;
  const { keyring } = tenant;
  const now = context.clock.now();
  const cutoff = context.clock.cutoff();
  // The reply counts before the change: afterwards, the call can no longer be refused.
  const read = () => settled(context.store.findToken(tenant.record.id, id, cutoff));
  const record = await runSteps(work.readHeld(2 * MAX_DATA, read, sealedBytes));
  const slice = work.next();
  if (slice !== undefined) await slice;
  if (!record) throw new Problem('token_not_found');
  const containersAfter = (old: readonly string[]) => patchedContainers(body, record, old);
  const { unsealed: before, contents: stored } = openToken(keyring, id, record, ({ containers: old }) =>
    checkAccess(body, grants, { id, containers: old }, { id, containers: containersAfter(old) }),
  );
  const { details } = stored;
  const containers = containersAfter(details.containers);
  const sentData = checkSentBack(body, grants, before, stored);
  const unread = !isReader(grants, { id, containers });
  if (unread && EXPRESSIONS.some((member) => body[member] != null)) throwIf(context.limitUnread(account));
  const definition = patchedDefinition(body, stored.definition);
  const metadata = patchedMetadata(body, details);
  checkDefinitionSize(body, definition, metadata);
  const old = parseJson(stored.data);
  const patch = patchedData(sentData, old, unread);
  const data = patch?.data ?? old;
  // Checking the merged data checks only the patch: type rules check one member at a time, and the stored members
  // passed before.
  checkData(before.type, data);
  const expiry = patchedExpiry(body, before, details, now);
  const token = {
    type: before.type,
    data,
    dataText: patch?.text ?? stored.data,
    containers,
    metadata,
    expires_at: expiry?.text,
    definition,
  };
  const patched = patchedExpressions(body, stored.definition, unread);
  const derived = derive(keyring, token, { patched, work });
  const { contents, indexes } = await derived.catch(namingStored(body, definition));
  const modified = { modified_by: application.record.id, modified_at: now, expires_at: expiry?.instant };
  const unsealed = { ...before, ...modified, revision: before.revision + 1 };
  const after = sealToken(keyring, unsealed, contents);
  const fingerprints = fingerprintsOf(indexes);
  // A patch that leaves the fingerprint as it was makes no duplicate (decisions §7).
  const isMade = deduplicate && !unread && !hasFingerprint(keyring, record, details.fingerprint, fingerprints);
  const original = isMade ? await findOriginal(id, fingerprints, caller, context) : undefined;
  const shortened = original !== undefined && !mayReadOriginal(original, fingerprints, caller, context);
  const transform = unread ? undefined : governingTransform(grants, 'token:update', { id, containers });
  const parts = { details: contents.details, definition, data: shownText(contents, transform) };
  const reply = showUpdated(unsealed, parts, { unread, deduplicate, shortened });
  const result = { revealed: transform === 'reveal', shortened: shortened || undefined };
  const audit = caller.recorder.changed([id], after.revision, result);
  const replaced = await context.store.replaceToken(after, indexes, { revision: before.revision, now: cutoff }, audit);
  return replaced ? reply : undefined;
}

/**
 * Throws 403 when no rule allows the update, or when the update would reveal more of the stored data to the caller
 * (decisions §6).
 */
function checkAccess(body: UpdateToken, grants: Grants, before: TokenFacts, after: TokenFacts): void {
  for (const touched of [before, after]) {
    if (!reachesEveryContainer(grants, 'token:update', touched)) throw new Problem('no_governing_rule');
  }
  const member = EXPRESSIONS.find((each) => body[each] !== undefined);
  if (member !== undefined && !maySetExpressions(grants, before)) {
    throw new Problem('no_governing_rule', {
      detail: `The access rule of the application does not reveal this token, so the application may not set ${member}.`,
    });
  }
  if (!revealsMore(grants, before, after)) return;
  throw new Problem('no_governing_rule', {
    detail: 'The application may not move this token to containers where its access rules show more of it.',
  });
}

/** Returns whether the caller may read a token. */
export function isReader(grants: Grants, token: TokenFacts): boolean {
  return governingTransform(grants, 'token:read', token) !== undefined;
}

/**
 * Returns the data after the patch, with its JSON text; undefined when nothing changes it. Ignores a patch that makes
 * the data too long for a caller without read access, so that this caller does not learn how long the data is.
 */
function patchedData(patch: Json | undefined, old: Json, unread: boolean) {
  if (patch === undefined) return undefined;
  const data = applyMergePatch(old, patch);
  try {
    return { data, text: printData(data) };
  } catch (error) {
    if (!unread) throw error;
    return undefined;
  }
}

/**
 * Returns the containers after the patch. A token always has a container, so `null` restores the type's default (RFC
 * 7396 §2, decisions §3).
 */
function patchedContainers(
  body: UpdateToken,
  { type }: Pick<TokenRecord, 'type'>,
  old: readonly string[],
): readonly string[] {
  if (body.containers === undefined) return old;
  return normalizeContainers(body.containers ?? [TOKEN_TYPES[type].container]);
}

/**
 * Returns the definition after the patch. `null` removes the mask and the search indexes, and restores the default
 * fingerprint expression.
 */
function patchedDefinition(body: UpdateToken, old: TokenDefinition): TokenDefinition {
  const { mask, search_indexes, fingerprint_expression } = body;
  const merged = mask === undefined ? old.mask : applyMergePatch(old.mask, mask);
  return {
    mask: merged === null ? undefined : merged,
    search_indexes: search_indexes === undefined ? old.search_indexes : (search_indexes ?? undefined),
    fingerprint_expression:
      fingerprint_expression === undefined
        ? old.fingerprint_expression
        : (fingerprint_expression ?? DEFAULT_FINGERPRINT),
  };
}

/** Returns the metadata after the patch. Throws 400 when it has too many members. */
function patchedMetadata({ metadata }: UpdateToken, old: TokenDetails): TokenDetails['metadata'] {
  if (metadata === undefined) return old.metadata;
  // The cast is safe: the schema allows only strings and null, and null removes a member.
  const merged = applyMergePatch(old.metadata, metadata) as TokenDetails['metadata'] | null;
  checkMetadata(Object.keys(merged ?? {}).length);
  return merged ?? undefined;
}

function patchedExpiry({ expires_at }: UpdateToken, before: UnsealedToken, details: TokenDetails, now: Instant) {
  if (expires_at === null) return undefined;
  if (expires_at !== undefined) return parseExpiresAt(expires_at, now);
  const { expires_at: instant } = before;
  return instant === undefined ? undefined : { instant, text: details.expires_at };
}

async function findOriginal(id: string, fingerprints: readonly Uint8Array[], { tenant }: Caller, context: Context) {
  for (const fingerprint of fingerprints) {
    const found = await context.store.findDuplicate(tenant.record.id, fingerprint, id, context.clock.cutoff());
    if (found) return found;
  }
  return undefined;
}

/** The members of an updated token that its reply may contain. */
interface UpdatedParts {
  readonly details: TokenDetails | PresentedDetails;
  readonly definition: TokenDefinition;
  readonly data: JsonText | undefined;
}

interface UpdatedForm {
  /** Whether the caller cannot read the token. */
  readonly unread: boolean;
  /** Whether the update looks for a duplicate. */
  readonly deduplicate: boolean;
  /** Whether the caller cannot read the duplicate of the token. */
  readonly shortened: boolean;
}

/**
 * Returns the updated token. A caller that cannot read it gets it without `data` and `fingerprint`. With deduplication,
 * also without the members that §4.1 redacts for a duplicate, so the reply does not show whether there is one.
 */
export function showUpdated(
  token: Parameters<typeof showToken>[0],
  { details, definition, data }: UpdatedParts,
  { unread, deduplicate, shortened }: UpdatedForm,
): ReplyBody<Token> {
  const { containers, metadata, expires_at } = details;
  if (unread && deduplicate) return showToken(token, { containers, expires_at }, undefined);
  if (unread) return showToken(token, { containers, metadata, expires_at }, undefined, definition);
  // A caller that cannot read the original must not learn that its patch made a duplicate (§4.1). Both tokens stay.
  if (shortened) return showToken(token, { ...details, metadata: undefined }, undefined);
  return showToken(token, details, data, definition);
}

/**
 * Returns whether the caller may read the duplicate of its token. If not, the reply confirms a guess, so it counts with
 * the creates that return a duplicate: at most 100 a minute together (decisions §7).
 */
function mayReadOriginal(
  original: TokenRecord,
  fingerprints: readonly Uint8Array[],
  { tenant, grants, account }: Caller,
  context: Context,
): boolean {
  const opened = openPresented(tenant.keyring, original.id, original, recordColumns(original));
  const { containers, fingerprint } = opened.details;
  requireFingerprint(tenant.keyring, original, fingerprint, fingerprints);
  if (isReader(grants, { id: original.id, containers })) return true;
  throwIf(context.limitUnreadDuplicates(account));
  return false;
}

function shownText({ data, masked }: TokenContents, transform: Transform | undefined): JsonText | undefined {
  if (transform === 'reveal') return new JsonText(data);
  return transform === 'mask' && masked !== undefined ? new JsonText(masked) : undefined;
}
