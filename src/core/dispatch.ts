import type { Call, Reply, SentBody } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import type { ApplicationType } from '../contract/permissions.ts';
import { holds } from './access/grants.ts';
import { createTrail, type Trail } from './audit/trail.ts';
import { createAuthenticator } from './authenticate.ts';
import { mayBeStale, withFreshKeys } from './fresh-keys.ts';
import {
  type Caller,
  type Handler,
  type HandlerNow,
  type Identity,
  type Turn,
  type World,
  Written,
} from './handler.ts';
import { HANDLERS, loadReplays } from './handlers.ts';
import { createIdempotency } from './idempotency.ts';
import { isLonger } from './is-longer.ts';
import { stringifyJson } from './json/stringify.ts';
import { nextTurn } from './own-turn.ts';
import type { Random } from './ports.ts';
import { Problem } from './problem.ts';
import { problemReply } from './problem-reply.ts';
import type { FoundReply, Replay } from './replay.ts';
import { checkMediaType, parseBody } from './request/parse-body.ts';
import { loadBodyValidators, type Request, validate } from './request/validate.ts';

/**
 * Application types whose keys may be used in web pages (§2.5). Keys of other types are secrets that no page should
 * hold.
 */
const BROWSER_TYPES: ReadonlySet<ApplicationType> = new Set(['public', 'expiring']);

/**
 * The operations whose handlers put bodies in line and read them one at a time. The bodies wait as text: parsed JSON
 * takes ten times the memory, and the garbage collector copies it again and again while it waits.
 */
const READ_LATER: ReadonlySet<OperationId> = new Set(['tokenize', 'detokenize']);

const UNSHOWN =
  'The request with this idempotency key succeeded, but a record of its reply is gone, has changed or is out of reach.';

export type Dispatch = ReturnType<typeof createDispatch>;

/**
 * Creates the path from Call to Reply that every operation takes on both targets. The order of the steps decides which
 * error a caller sees first (decisions §1): a caller learns nothing about a body or a token before authentication.
 */
export function createDispatch(world: World) {
  const authenticator = createAuthenticator(world);
  const idempotency = createIdempotency(world);

  async function dispatch(call: Call): Promise<Reply> {
    const trace = traceOf(call, world.random);
    try {
      return await withFreshKeys(world.keyring, () => answer(call, trace));
    } catch (error) {
      return failed(error, trace);
    }
  }

  function failed(failure: unknown, { traceId }: Trace): Reply {
    if (!(failure instanceof Problem) || failure.status >= 500) world.reportError(failure, traceId);
    return problemReply(failure instanceof Problem ? failure : new Problem('internal_error'), traceId);
  }

  /**
   * Answers a call synchronously, in the same steps as `dispatch`. Returns a promise only while the audit is written.
   * Returns undefined for a call that must wait or that failed; the caller then uses `dispatch`.
   */
  function answerNow<Id extends OperationId>(call: Call, handler: HandlerNow<Id>, turn: Turn) {
    const trace = traceOf(call, world.random);
    const identity = knownIn(turn, call.apiKey);
    if (identity === undefined) return undefined;
    if (identity instanceof Problem) return problemReply(identity, trace.traceId);
    try {
      call.onCaller?.(identity.application.record.id);
    } catch (error) {
      return failed(error, trace);
    }
    const trail = createTrail(world.audit, call, identity);
    const row: Operation = OPERATIONS[call.operation];
    let result: Reply | Problem | undefined = refusal(identity, row, call);
    let written: Promise<void> | undefined;
    try {
      if (result === undefined) {
        const sent = call.readBody?.() ?? call;
        if ('then' in sent) {
          // `dispatch` awaits this promise later. The promise may reject before that, so handle the rejection now.
          sent.catch(() => undefined);
          return undefined;
        }
        if (!row.body && sent.bodyText) return undefined;
        const request = validate(call.operation as Id, row, call, parseBody(row, sent, world.limits), turn.bodies);
        const handled = handler(request, { ...identity, trail }, world, turn);
        const shown = handled instanceof Written ? handled.shown : handled;
        if (handled instanceof Written) written = handled.written;
        result = shown === undefined || shown instanceof Problem ? shown : reply(row, shown, trace);
      }
    } catch (error) {
      // Do not repeat a change that is already in progress.
      if (!(error instanceof Problem) && written === undefined) return undefined;
      result = error instanceof Problem ? error : new Problem('internal_error');
    }
    if (result === undefined || (result.status >= 500 && written === undefined)) return undefined;
    const problem = result instanceof Problem ? result : undefined;
    const recorded = written ?? (problem ? trail.refuse(problem) : trail.finish());
    const answered = result instanceof Problem ? problemReply(result, trace.traceId) : result;
    return recorded === undefined
      ? answered
      : recorded.then(
          () => answered,
          (error) => (mayBeStale(error) ? dispatch(call) : failed(error, trace)),
        );
  }

  /**
   * Loads the identity behind a call's API key into the cache, for `answerNow`. Resolves to the reply when the key is
   * invalid, else to undefined.
   */
  async function loadCaller(call: Call): Promise<Reply | undefined> {
    try {
      await authenticator.identify(call.apiKey);
    } catch (error) {
      if (error instanceof Problem && error.status === 401)
        return problemReply(error, traceOf(call, world.random).traceId);
    }
    return undefined;
  }

  return { dispatch, answerNow, loadCaller };

  function knownIn({ known }: Turn, apiKey: string | undefined): Identity | Problem | undefined {
    if (!known.has(apiKey)) known.set(apiKey, authenticator.known(apiKey));
    return known.get(apiKey);
  }

  async function answer(call: Call, trace: Trace): Promise<Reply> {
    let identity = await authenticator.identify(call.apiKey);
    const { record } = identity.application;
    call.onCaller?.(record.id);
    const trail = createTrail(world.audit, call, identity);
    try {
      const row = OPERATIONS[call.operation];
      throwIf(refusal(identity, row, call));
      const sending = call.readBody?.() ?? call;
      const sent = 'then' in sending ? await sending : sending;
      // Parsing a body and answering it take time.
      const turn = sent.bodyText === undefined ? undefined : nextTurn(record.id);
      if (turn !== undefined) await turn;
      if (sent !== sending || turn !== undefined) {
        // A body may take seconds to arrive or to get its turn, and the key may expire meanwhile.
        identity = await authenticator.identify(call.apiKey);
        throwIf(refusal(identity, row, call));
      }
      const caller = identity;
      const request = idempotency.requestOf(call, sent, caller.application.record);
      const stored = request && (await idempotency.find(request, caller.tenant.keyring));
      const run = (trail: Trail) => perform(call.operation, call, sent, { ...caller, trail }, stored);
      const isFirst = request !== undefined && stored === undefined;
      const result = await (isFirst ? idempotency.run(request, call, caller.tenant.keyring, trail, run) : run(trail));
      const answered = reply(stored ?? row, result, trace);
      await trail.finish();
      return stored ? { ...answered, replayed: true } : answered;
    } catch (error) {
      await trail.refuse(error);
      throw error;
    }
  }

  async function perform<Id extends OperationId>(
    id: Id,
    call: Call,
    sent: SentBody,
    caller: Caller,
    stored?: FoundReply,
  ) {
    const row: Operation = OPERATIONS[id];
    const bodies = row.body && (await loadBodyValidators());
    const read = () => validate(id, row, call, parseBody(row, sent, world.limits, call.mediaType), bodies);
    const request = READ_LATER.has(id) ? readLater(read) : read();
    if (stored !== undefined) return replay(id, stored, request, caller);
    const handler: Handler<Id> = await HANDLERS[id]();
    return handler(request, caller, world);
  }

  /** Resolves to the result of a retry. Rejects with `idempotency_mismatch` when it can no longer be shown. */
  async function replay<Id extends OperationId>(id: Id, stored: FoundReply, request: Request<Id>, caller: Caller) {
    const replays: { readonly [Each in OperationId]?: Replay<Each> } = await loadReplays();
    const shown = await replays[id]?.(stored, request, caller, world);
    if (shown !== undefined) return shown;
    const ids = stored.ids.filter((_, place) => stored.found?.[place] === undefined);
    throw new Problem('idempotency_mismatch', { detail: UNSHOWN, ids });
  }

  /**
   * Returns the reply with a result. Reads the trace id lazily, so none is generated when the call did not send one.
   */
  function reply(
    { status }: { readonly status: number },
    result: Parameters<typeof stringifyJson>[0] | undefined,
    trace: Trace,
  ): Reply {
    const bodyText = result === undefined ? undefined : stringifyJson(result);
    if (bodyText !== undefined && isLonger(bodyText, world.limits.response)) {
      throw new Problem('result_too_large', {
        errors: { size: ['must be smaller, because these items exceed the size limit of a response'] },
      });
    }
    const { sent } = trace;
    const body = bodyText === undefined ? {} : { bodyText };
    if (sent !== undefined) return { status, ...body, traceId: sent };
    return {
      status,
      ...body,
      get traceId() {
        return trace.traceId;
      },
    };
  }
}

interface Trace {
  readonly traceId: string;
  /** The trace id that came with the call. */
  readonly sent: string | undefined;
}

/**
 * Returns the trace id of a call: the id that was sent, or one that is generated on first use. On the file only a
 * problem needs a trace id, and generating one would start the random source.
 */
function traceOf({ traceId: sent }: Call, random: Random): Trace {
  if (sent !== undefined) return { traceId: sent, sent };
  let made: string | undefined;
  return {
    get traceId() {
      made ??= random.id();
      return made;
    },
    sent,
  };
}

/** Returns the problem of steps 2 and 3, which run before the body is read; undefined when the call may continue. */
function refusal({ grants, application }: Identity, row: Operation, call: Call): Problem | undefined {
  if (call.fromBrowser && !BROWSER_TYPES.has(application.record.type)) return new Problem('origin_refused');
  const { permission, orFlag } = row;
  if (permission !== undefined && !holds(grants, permission) && !(orFlag && application.details[orFlag])) {
    const detail = `The application does not hold the permission ${permission}.`;
    return new Problem('permission_missing', { detail });
  }
  return row.body && checkMediaType(row, call);
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

function throwIf(problem: Problem | undefined): void {
  if (problem !== undefined) throw problem;
}
