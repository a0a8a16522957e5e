import type { OPERATIONS, OperationId, ResultOf } from '../contract/operations.ts';
import { replayCreateKey, replayIssued, replayUpdateApplication } from './applications/replay.ts';
import type { Caller, Context, ReplyBody } from './handler.ts';
import type { JsonText } from './json/stringify.ts';
import type { Instant } from './ports.ts';
import type { ReplyContents } from './reply-codec.ts';
import type { Request } from './request/validate.ts';
import type { StepsOrPromise } from './steps.ts';
import { showTenant } from './tenants/tenant-codec.ts';
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
