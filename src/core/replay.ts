import type { OPERATIONS, OperationId, ResultOf } from '../contract/operations.ts';
import {
  checkApplicationKey,
  openApplication,
  showApplication,
  showApplicationKey,
} from './applications/application-codec.ts';
import type { Caller, Context, ReplyBody } from './handler.ts';
import type { JsonText } from './json/stringify.ts';
import type { Instant } from './ports.ts';
import type { ReplyContents } from './reply-codec.ts';
import type { Request } from './request/validate.ts';
import type { StepsOrPromise } from './steps.ts';
import { showTenant } from './tenants/tenant-codec.ts';
import { isExpired } from './time.ts';
import { replayCreateToken, replayUpdateToken } from './tokens/replay.ts';
import { replayTokenize } from './tokens/tokenize.ts';

/** The operations whose calls may have an idempotency key. */
export type KeyedOperationId = {
  readonly [Id in OperationId]: (typeof OPERATIONS)[Id] extends {
    readonly method: 'POST' | 'PUT' | 'PATCH';
    readonly audit: { readonly effect: readonly unknown[] };
  }
    ? Id
    : never;
}[OperationId];

/** A stored reply, with the time of its call. */
export interface FoundReply extends ReplyContents {
  readonly created_at: Instant;
}

/**
 * A function that answers a retry of a change: from the records as they are now, by the caller's rules of now, in the
 * form of the operation. Its result is undefined when a record is gone, has expired or is not visible to the caller,
 * and when the application of a new API key has another revision.
 */
export type Replay<Id extends OperationId> = (
  found: FoundReply,
  request: Request<Id>,
  caller: Caller,
  context: Context,
) => StepsOrPromise<ReplyBody<ResultOf<Id>> | JsonText | undefined>;

/** Resolves to an application; undefined when it is gone. */
async function findOpened(id: string, { tenant }: Caller, context: Context) {
  const record = await context.store.findApplication(tenant.record.id, id, context.clock.cutoff());
  return record && openApplication(tenant.keyring, id, record);
}

/** Resolves to the application of a stored reply; undefined when it is gone. */
async function findShown({ ids: [id = ''] }: FoundReply, caller: Caller, context: Context) {
  const application = await findOpened(id, caller, context);
  if (application !== undefined) caller.recorder.shown([id], false, [application.details.name]);
  return application;
}

/** Resolves to the API key of a stored reply; undefined when it is gone. */
async function findIssued({ issued }: FoundReply, { tenant }: Caller, context: Context) {
  const record = issued && (await context.store.findApplicationKey(tenant.record.id, issued.id));
  if (record === undefined || isExpired(record, context.clock.cutoff())) return undefined;
  checkApplicationKey(tenant.keyring, record);
  return { record, key: issued?.key };
}

/**
 * Answers a retry of an operation that shows an application with a new API key, if the application still has the same
 * revision and the key.
 */
export const replayIssued: Replay<'createApplication' | 'regenerateApplicationKey'> = async (
  found,
  _request,
  caller,
  context,
) => {
  const application = await findShown(found, caller, context);
  const { issued } = found;
  // An application may be created without a key; it then has no secret to show again.
  if (application === undefined || issued === undefined) return application && showApplication(application);
  if (application.record.revision !== issued.revision) return undefined;
  if ((await findIssued(found, caller, context)) === undefined) return undefined;
  // An API key is as secret as plaintext.
  caller.recorder.shown(found.ids, true, [application.details.name]);
  return showApplication(application, issued.key);
};

/** Answers a retry of Create a Key, if the key still exists. */
export const replayCreateKey: Replay<'createApplicationKey'> = async (found, _request, caller, context) => {
  const issued = await findIssued(found, caller, context);
  if (issued === undefined) return undefined;
  const application = await findOpened(issued.record.application_id, caller, context);
  if (application === undefined) return undefined;
  caller.recorder.shown(found.ids, true, [application.details.name]);
  return showApplicationKey(issued.record, issued.key);
};

export const replayUpdateApplication: Replay<'updateApplication'> = async (found, _request, caller, context) => {
  const application = await findShown(found, caller, context);
  return application && showApplication(application);
};

/** How a retry of each operation is answered. A missing operation does not compile. */
export const REPLAYS: { readonly [Id in KeyedOperationId]: Replay<Id> } = {
  createToken: replayCreateToken,
  updateToken: replayUpdateToken,
  tokenize: replayTokenize,
  createApplication: replayIssued,
  createApplicationKey: replayCreateKey,
  updateApplication: replayUpdateApplication,
  regenerateApplicationKey: replayIssued,
  updateTenant: async (_found, _request, { tenant }) => showTenant(tenant),
};
