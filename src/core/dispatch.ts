import type { Call, Reply, SentBody } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId, type ResultOf } from '../contract/operations.ts';
import type { ApplicationType } from '../contract/permissions.ts';
import { requirePermission } from './access/grants.ts';
import { type AuditRecorder, createAuditRecorder } from './audit/audit-recorder.ts';
import { createAuthenticator } from './authenticate.ts';
import { isLonger } from './bytes.ts';
import { freshKeySteps, mayBeStale } from './fresh-keys.ts';
import type { Caller, Context, Handler, Identity, ReplyBody } from './handler.ts';
import { HANDLERS, loadReplays } from './handlers.ts';
import { createIdempotency } from './idempotency.ts';
import { type JsonText, stringifyJson } from './json/stringify.ts';
import { loaded } from './loaded-once.ts';
import { Problem, problemReply } from './problem.ts';
import type { FoundReply, Replay } from './replay.ts';
import { pageTooLarge } from './request/page.ts';
import { checkMediaType, parseBody } from './request/parse-body.ts';
import { loadBodyValidators, type Request, validate } from './request/validate.ts';
import { runSteps, type Steps, settled, stepsOf } from './steps.ts';
import { Work } from './work.ts';

/**
 * Application types whose keys may be used in web pages (§2.5). Keys of other types are secrets that no page should
 * hold.
 */
const BROWSER_TYPES: ReadonlySet<ApplicationType> = new Set(['public', 'expiring']);

/**
 * The operations whose handlers queue bodies and parse them one at a time. Queued bodies stay text: parsed JSON takes ten
 * times the memory, and the garbage collector copies it repeatedly while it waits.
 */
const READ_LATER: ReadonlySet<OperationId> = new Set(['tokenize', 'detokenize']);

const REPLAYED = { replayed: true } as const;

const UNSHOWN =
  'The request with this idempotency key succeeded, but a record of its reply is gone, has changed or is no longer visible.';

export type Dispatch = ReturnType<typeof createDispatch>;

/**
 * Creates the path from Call to Reply that every operation takes on both targets. The order of the steps decides which
 * error a caller sees first (decisions §1): a caller learns nothing about a body or a token before authentication.
 */
export function createDispatch(context: Context) {
  const authenticator = createAuthenticator(context);
  const idempotency = createIdempotency(context);

  return {
    /** Returns the reply to a call, or its promise if the call must wait. Never fails. */
    answer: (call: Call): Reply | Promise<Reply> => runSteps(dispatch(call)),
    accountOf: authenticator.accountOf,
  };

  function* dispatch(call: Call): Steps<Reply> {
    try {
      return yield* freshKeySteps(context.keyring, () => answer(call));
    } catch (error) {
      return failed(error, call);
    }
  }

  /** Only a problem needs a trace id that the call did not send: making one would start the random source of a file. */
  function failed(failure: unknown, { traceId = context.random.id() }: Call): Reply {
    if (!(failure instanceof Problem) || failure.status >= 500) context.reportError(failure, traceId);
    return problemReply(failure instanceof Problem ? failure : new Problem('internal_error'), traceId);
  }

  function* answer(call: Call): Steps<Reply> {
    let identity = yield* authenticator.identify(call.apiKey);
    const { record } = identity.application;
    call.onCaller?.(record.id, identity.account);
    const work = new Work(identity.account, context.replies, call.isAbandoned);
    const recorder = createAuditRecorder(context.audit, call, identity);
    try {
      // The call may have waited for its tick.
      work.endIfAbandoned();
      const row = OPERATIONS[call.operation];
      requireAllowed(identity, row, call);
      const sending = call.readBody?.(identity.account) ?? call;
      const sent = yield* settled(sending);
      // Parsing a body and answering it take time.
      const slice = sent.bodyText === undefined ? undefined : work.next();
      if (slice !== undefined) yield slice;
      if (sent !== sending || slice !== undefined) {
        // The key may expire while the body arrives or waits for its slice.
        identity = yield* authenticator.identify(call.apiKey);
        requireAllowed(identity, row, call);
      }
      const caller = identity;
      const { idempotencyKey: key } = call;
      const request = key === undefined ? undefined : idempotency.requestOf(key, call, sent, caller.application.record);
      const stored = request && (yield* settled(idempotency.find(request, caller.tenant.keyring)));
      const run = (recorder: AuditRecorder) =>
        perform(call.operation, call, sent, { ...caller, recorder, work }, stored);
      const isFirst = request !== undefined && stored === undefined;
      const result = yield* isFirst
        ? idempotency.run(request, call, caller.tenant.keyring, recorder, run)
        : run(recorder);
      const answered = reply(stored ?? row, result, call);
      const room = work.hold(answered.bodyText?.length ?? 0, stored === undefined && recorder.hasChanged());
      if (room !== undefined) yield room;
      const recorded = recorder.finish();
      if (recorded !== undefined) yield recorded;
      if (stored === undefined && !work.isHeld) return answered;
      return { ...answered, ...(stored && REPLAYED), ...(work.isHeld && { sent: () => work.release() }) };
    } catch (error) {
      work.release();
      const refused = recorder.refuse(error);
      if (refused !== undefined) yield refused;
      // An error that is thrown on passes two more generators, which takes as long as a read.
      if (mayBeStale(error)) throw error;
      return failed(error, call);
    }
  }

  function* perform<Id extends OperationId>(
    id: Id,
    call: Call,
    sent: SentBody,
    caller: Caller,
    stored?: FoundReply,
  ): Steps<ReplyBody<ResultOf<Id>> | JsonText> {
    const row: Operation = OPERATIONS[id];
    const bodies = row.body && (yield* loaded(loadBodyValidators));
    const read = () => validate(id, row, call, parseBody(row, sent, context.limits, call.mediaType), bodies);
    const request = READ_LATER.has(id) ? readLater(read) : read();
    if (stored !== undefined) return yield* replay(id, stored, request, caller);
    const handler: Handler<Id> = yield* loaded(HANDLERS[id]);
    return yield* stepsOf(handler(request, caller, context));
  }

  /** Returns the result of a retry. Fails with `idempotency_mismatch` when it can no longer be shown. */
  function* replay<Id extends OperationId>(id: Id, stored: FoundReply, request: Request<Id>, caller: Caller) {
    const replays: { readonly [Each in OperationId]?: Replay<Each> } = yield* loaded(loadReplays);
    const replayed = replays[id];
    const body = replayed && (yield* stepsOf(replayed(stored, request, caller, context)));
    if (body !== undefined) return body;
    const ids = stored.ids.filter((_, position) => stored.found?.[position] === undefined);
    throw new Problem('idempotency_mismatch', { detail: UNSHOWN, ids });
  }

  function reply(
    { status }: { readonly status: number },
    result: Parameters<typeof stringifyJson>[0] | undefined,
    { traceId = '' }: Call,
  ): Reply {
    if (result === undefined) return { status, traceId };
    const bodyText = stringifyJson(result);
    if (!isLonger(bodyText, context.limits.response)) return { status, bodyText, traceId };
    throw pageTooLarge();
  }
}

/** Performs steps 2 and 3, which run before the body is read. Throws the problem of a call that may not continue. */
function requireAllowed(identity: Identity, row: Operation, call: Call): void {
  const { application } = identity;
  if (call.fromBrowser && !BROWSER_TYPES.has(application.record.type)) throw new Problem('origin_refused');
  const { permission, orFlag, orOwn } = row;
  if (!orOwn && !(orFlag && application.details[orFlag])) requirePermission(identity, permission);
  if (row.body) checkMediaType(row, call);
}

/**
 * Returns a request that `read` creates each time the handler uses it. The request must not keep the result: V8 moves a
 * request that waits to the old objects, and collects what old objects hold much later.
 */
function readLater<Id extends OperationId>(read: () => Request<Id>): Request<Id> {
  return {
    get params() {
      return read().params;
    },
    get query() {
      return read().query;
    },
    get body() {
      return read().body;
    },
  };
}
