import type { Token } from '../../contract/token.ts';
import { governingTransform, reachesEveryContainer } from '../access/grants.ts';
import type { Caller, Context, ReplyBody } from '../handler.ts';
import { JsonText } from '../json/stringify.ts';
import type { PresentedToken } from '../ports.ts';
import type { FoundReply, Replay } from '../replay.ts';
import { presentedColumns } from './clear-columns.ts';
import { type ContainerVisibility, containerVisibility, isDeduplicated } from './create.ts';
import { sealedBytes, showToken } from './present-token.ts';
import { readTokens } from './read-tokens.ts';
import { decodeDefinition, openFull, openPresented } from './token-codec.ts';
import { isReader, showUpdated } from './update.ts';

/** The id and the record of a token in a stored reply. */
interface Replayed {
  readonly id: string;
  readonly record: PresentedToken;
  /** The revision at which the call found the token; undefined if the call created it. */
  readonly found: number | undefined;
}

/**
 * Returns a token in the form of Create Token; undefined when it is not visible to the caller. A caller that cannot
 * read the token gets it only while it has not changed since the call: the fingerprint and the masked form of other
 * data would let it confirm guesses (decisions §7).
 */
function showAsCreated({ id, record, found }: Replayed, { tenant, grants }: Caller, visibleAs: ContainerVisibility) {
  const columns = presentedColumns(record);
  const { details, masked, definitionText } = openPresented(tenant.keyring, id, record, columns);
  const { containers, fingerprint } = details;
  const { type, revision } = columns;
  const reading = governingTransform(grants, 'token:read', { id, containers });
  const { tenant_id } = record;
  if (found !== undefined && reading === undefined) {
    return revision === found ? { id, type, tenant_id, fingerprint, containers } : undefined;
  }
  const transforms = found === undefined ? [visibleAs(containers), revision === 1 ? 'mask' : reading] : [reading];
  if (transforms.includes(undefined)) return undefined;
  const isShown = masked !== undefined && !transforms.includes('redact');
  const data = isShown ? new JsonText(masked) : undefined;
  return showToken({ id, tenant_id, ...columns }, details, data, decodeDefinition(type, definitionText));
}

/**
 * Resolves to the tokens of a stored reply, in the form of Create Token; undefined when one is missing, was created
 * after the call, or is not visible to the caller.
 */
export async function showCreatedNow(
  reply: FoundReply,
  caller: Caller,
  context: Context,
): Promise<readonly ReplyBody<Token>[] | undefined> {
  const visibleAs = containerVisibility(caller.grants);
  const tokens: ReplyBody<Token>[] = [];
  for await (const { id, record } of readTokens(reply.ids, context.clock.cutoff(), caller, context)) {
    const slice = caller.work.next(record && sealedBytes(record));
    if (slice !== undefined) await slice;
    if (record === undefined || isLater(record, reply)) return undefined;
    const token = showAsCreated({ id, record, found: reply.found?.[tokens.length] }, caller, visibleAs);
    if (token === undefined) return undefined;
    tokens.push(token);
  }
  caller.recorder.shown(reply.ids, false);
  return tokens;
}

/** Returns whether a token was created after the call. After `vault dev reset`, another token may have the same id. */
function isLater(record: PresentedToken, { created_at }: FoundReply): boolean {
  return presentedColumns(record).created_at > created_at;
}

export const replayCreateToken: Replay<'createToken'> = async (found, _request, caller, context) =>
  (await showCreatedNow(found, caller, context))?.[0];

/** Answers a retry of Update Token with what an update without members would show now. */
export const replayUpdateToken: Replay<'updateToken'> = async (found, { body }, caller, context) => {
  const { tenant, grants, recorder } = caller;
  const [id = ''] = found.ids;
  const record = await context.store.findPresentedToken(tenant.record.id, id, context.clock.cutoff());
  if (record === undefined || isLater(record, found)) return undefined;
  const columns = presentedColumns(record);
  const { details, masked, definitionText } = openPresented(tenant.keyring, id, record, columns);
  const facts = { id, containers: details.containers };
  if (!reachesEveryContainer(grants, 'token:update', facts)) return undefined;
  const unread = !isReader(grants, facts);
  const transform = unread || found.shortened ? undefined : governingTransform(grants, 'token:update', facts);
  const text = transform === 'reveal' ? openFull(tenant.keyring, id, record, columns).data : masked;
  const data = text === undefined || transform === undefined || transform === 'redact' ? undefined : new JsonText(text);
  recorder.shown([id], transform === 'reveal');
  const parts = { details, definition: decodeDefinition(columns.type, definitionText), data };
  const form = { unread, deduplicate: isDeduplicated(body, caller), shortened: found.shortened === true };
  return showUpdated({ id, tenant_id: record.tenant_id, ...columns }, parts, form);
};
