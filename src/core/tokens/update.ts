import type { Transform } from '../../contract/permissions.ts';
import type { Token, UpdateToken } from '../../contract/token.ts';
import { TOKEN_TYPES } from '../../contract/token-types.ts';
import { governingTransform, reachesEveryContainer, type TokenFacts } from '../access/governing-transform.ts';
import type { Grants } from '../access/grants.ts';
import { untilSwapped } from '../compare-and-swap.ts';
import type { Caller, Handler, Shown, World } from '../handler.ts';
import { parseJson } from '../json/parse.ts';
import { JsonText } from '../json/stringify.ts';
import type { Instant, TokenRecord } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { recordColumns } from './clear-columns.ts';
import { normalizeContainers } from './containers.ts';
import { checkSyntax, derive } from './derive.ts';
import { parseExpiresAt } from './expires-at.ts';
import { fingerprintsOf, requireFingerprint } from './indexes.ts';
import { applyMergePatch } from './merge-patch.ts';
import { checkSize, showToken } from './present-token.ts';
import {
  DEFAULT_FINGERPRINT,
  openPresented,
  openToken,
  sealToken,
  type TokenContents,
  type TokenDefinition,
  type TokenDetails,
  type UnsealedToken,
} from './token-codec.ts';
import { checkData } from './validate-data.ts';

const MAX_METADATA = 50;

/** Update Token (§4.1): merge patch for `data`, `mask` and `metadata` (RFC 7396), replacement for the rest. */
export const updateToken: Handler<'updateToken'> = async ({ params: { id }, body }, caller, world) => {
  await checkAlone(body, world.clock.now());
  const updated = await untilSwapped(() => attempt(id, body, caller, world));
  const deduplicate = body.deduplicate_token ?? caller.tenant.details.settings.deduplicate_tokens === 'true';
  const original = deduplicate ? await findOriginal(id, updated.fingerprints, caller, world) : undefined;
  return showUpdated(caller, updated, original);
};

/** What can never be right is a 400 whether or not the token is there (decisions §1, order of checks). */
async function checkAlone(body: UpdateToken, now: Instant): Promise<void> {
  if (typeof body.expires_at === 'string') parseExpiresAt(body.expires_at, now);
  // To `null` nothing can be merged, and no type takes it (decisions §3).
  if (body.data === null) throw invalid('data', 'must not be null');
  checkMetadata(Object.values(body.metadata ?? {}).filter((value) => value !== null).length);
  await checkSyntax(body);
}

function checkMetadata(members: number): void {
  if (members > MAX_METADATA) throw invalid('metadata', `must have at most ${MAX_METADATA} members`);
}

interface Updated {
  readonly unsealed: UnsealedToken;
  readonly contents: TokenContents;
  /** Its blind index, under each index key that a token may still be found by. */
  readonly fingerprints: readonly Uint8Array[];
}

async function attempt(id: string, body: UpdateToken, caller: Caller, world: World): Promise<Updated | undefined> {
  const { tenant, grants, application } = caller;
  const { keyring } = tenant;
  const now = world.clock.now();
  const record = await world.store.findToken(tenant.record.id, id, now);
  if (!record) throw new Problem('token_not_found');
  const { unsealed: before, contents: stored } = openToken(keyring, id, record);
  const { details } = stored;
  const containers = patchedContainers(body, before, details);
  for (const touched of [details.containers, containers]) {
    if (!reachesEveryContainer(grants, 'token:update', { id, containers: touched })) {
      throw new Problem('no_governing_rule');
    }
  }
  const definition = patchedDefinition(body, stored.definition, isBlind(grants, { id, containers }));
  const metadata = patchedMetadata(body, details);
  const old = parseJson(stored.data);
  const data = body.data === undefined ? old : applyMergePatch(old, body.data);
  checkData(before.type, data);
  const expiry = patchedExpiry(body, before, details, now);
  const token = { type: before.type, data, containers, metadata, expires_at: expiry?.text, definition };
  const { contents, indexes } = await derive(keyring, token);
  const unsealed = {
    ...before,
    modified_by: application.record.id,
    modified_at: now,
    expires_at: expiry?.instant,
    revision: before.revision + 1,
  };
  const after = sealToken(keyring, unsealed, contents);
  checkSize(unsealed, after, contents, world.limits);
  const audit = caller.trail.changed([id], after.revision);
  const replaced = await world.store.replaceToken(after, indexes, { revision: before.revision, now }, audit);
  return replaced ? { unsealed, contents, fingerprints: fingerprintsOf(indexes) } : undefined;
}

/** A token is always in a container: `null` takes it back to its type's (RFC 7396 §2, decisions §3). */
function patchedContainers(body: UpdateToken, { type }: UnsealedToken, details: TokenDetails): readonly string[] {
  if (body.containers === undefined) return details.containers;
  return normalizeContainers(body.containers ?? [TOKEN_TYPES[type].container]);
}

/** `null` takes the mask and the search indexes away, and the fingerprint expression back to its default. */
function patchedDefinition(body: UpdateToken, old: TokenDefinition, blind: boolean): TokenDefinition {
  const { mask, search_indexes, fingerprint_expression } = body;
  const merged = mask === undefined ? old.mask : applyMergePatch(old.mask, mask);
  return {
    mask: merged === null ? undefined : merged,
    search_indexes: search_indexes === undefined ? old.search_indexes : (search_indexes ?? undefined),
    fingerprint_expression:
      fingerprint_expression === undefined
        ? old.fingerprint_expression
        : (fingerprint_expression ?? DEFAULT_FINGERPRINT),
    unread: old.unread || (blind && REDEFINING.some((member) => body[member] !== undefined)) || undefined,
  };
}

/** What these say of a token decides what its data looks like, and what its fingerprint tells of it. */
const REDEFINING = ['mask', 'fingerprint_expression', 'search_indexes'] as const;

/** Whoever changes the token, but is shown nothing of its data when it reads it. */
function isBlind(grants: Grants, token: TokenFacts): boolean {
  if (governingTransform(grants, 'token:update', token) === 'reveal') return false;
  return (governingTransform(grants, 'token:read', token) ?? 'redact') === 'redact';
}

function patchedMetadata({ metadata }: UpdateToken, old: TokenDetails): TokenDetails['metadata'] {
  if (metadata === undefined) return old.metadata;
  // The schema lets only strings and null through, and null removes: what is left are strings.
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

async function findOriginal(id: string, fingerprints: readonly Uint8Array[], { tenant }: Caller, world: World) {
  for (const fingerprint of fingerprints) {
    const found = await world.store.findDuplicate(tenant.record.id, fingerprint, id, world.clock.now());
    if (found) return found;
  }
  return undefined;
}

function showUpdated(
  { tenant, grants }: Caller,
  { unsealed, contents, fingerprints }: Updated,
  original: TokenRecord | undefined,
): Shown<Token> {
  const { details, definition } = contents;
  if (original) {
    const opened = openPresented(tenant.keyring, original.id, original, recordColumns(original));
    const { containers, fingerprint } = opened.details;
    requireFingerprint(tenant.keyring, original, fingerprint, fingerprints);
    const readable = governingTransform(grants, 'token:read', { id: original.id, containers });
    // §4.1: both tokens stay, but a caller learns nothing of what it patched its token into.
    if (!readable) return showToken(unsealed, { ...details, metadata: undefined }, undefined);
  }
  const facts = { id: unsealed.id, containers: details.containers };
  const transform = governingTransform(grants, 'token:update', facts);
  // Who may write a mask but not read must not learn the data through a mask, or a fingerprint, of its own making, now or
  // with the next patch.
  if (definition.unread && isBlind(grants, facts)) {
    return showToken(unsealed, { ...details, fingerprint: undefined }, undefined, definition);
  }
  return showToken(unsealed, details, shownText(contents, transform), definition);
}

function shownText({ data, masked }: TokenContents, transform: Transform | undefined): JsonText | undefined {
  if (transform === 'reveal') return new JsonText(data);
  return transform === 'mask' && masked !== undefined ? new JsonText(masked) : undefined;
}
