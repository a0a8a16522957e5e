import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Client, Reply, SentBody } from '../contract/call.ts';
import type { DevRequest } from '../contract/dev-paths.ts';
import type { OperationId } from '../contract/operations.ts';
import { loadedOnce } from '../core/loaded-once.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { createQuota } from '../core/quota.ts';
import { createRateLimit, type Rate } from '../core/rate-limit.ts';
import { hasLeft, networkOf, peerOf } from './connected-clients.ts';
import type { Cors } from './cors.ts';
import type { DaemonOptions } from './daemon-options.ts';
import { announcedLength, BUSY, readBody } from './read-body.ts';
import { failureReply } from './request-log.ts';
import { allowedMethods, findRoute, OWN_PATHS, type OwnPath, type RouteMatch } from './routes.ts';

/** The maximum number of failed authentications of a network in a second. */
export const FAILURES: Rate = { calls: 20, ms: 1_000 };

const MIB = 1024 * 1024;
/** The bytes of request bodies that a daemon holds. */
const BODY_BYTES = { each: 8 * MIB, all: 32 * MIB };

/** The parts of the daemon that answer requests. */
export interface RequestContext {
  /** The name of the header with the API key, in lower case. */
  readonly keyHeader: string;
  readonly traceIdOf: (request: IncomingMessage) => string;
  readonly answer: (response: ServerResponse, reply: Reply, more?: AnswerOptions) => void;
}

export interface EndpointContext extends RequestContext {
  readonly options: Pick<
    DaemonOptions,
    'limits' | 'ready' | 'notices' | 'version' | 'headerPrefix' | 'rateLimit' | 'dev'
  >;
  readonly cors: Cors;
  /** Returns whether `Host` is not one of this daemon. Only probes may have such a `Host`. */
  readonly isForeign: (request: IncomingMessage) => boolean;
  /** The name of the header with the idempotency key, in lower case. */
  readonly idempotencyHeader: string;
}

export interface AnswerOptions {
  /** The operation, or one of the daemon's own paths, for metrics and the log. */
  readonly operation?: OperationId | OwnPath;
  /** The route's pattern, for the log. */
  readonly route?: string;
  /** The id of the calling application if the key was valid, for the log. */
  readonly applicationId?: string | undefined;
  readonly allow?: string | undefined;
  /** Further header fields, as names and values in turn. */
  readonly fields?: readonly string[];
  /** Whether to omit the request from the log. */
  readonly isUnlogged?: boolean;
}

/** Answers a request below `/ui/`. `refused` is the problem that the daemon has already found with the request. */
export type ConsoleRequests = (
  request: IncomingMessage,
  response: ServerResponse,
  refused: Problem | undefined,
) => void;

/**
 * Sends a request to the controls of a `--dev` daemon. Resolves to the reply, `route_not_found` for an unknown path.
 */
export type SendToDev = (request: DevRequest, traceId: string) => Promise<Reply>;

/** The parts of a daemon that its console uses. */
export interface ConsoleContext extends RequestContext, Pick<EndpointContext, 'options' | 'isForeign'> {
  /** Absent without `--dev`. */
  readonly sendToDev?: SendToDev | undefined;
}

/** Returns a listener that turns a request into a call and the call's reply into a response. */
export function createEndpoints(client: Client, context: EndpointContext): RequestListener {
  const { options, keyHeader, idempotencyHeader, cors, traceIdOf, isForeign, answer } = context;
  const countCall = options.rateLimit && createRateLimit(options.rateLimit);
  // Tests send wrong keys in a loop. Without --dev, the limit slows down guesses. Valid keys always pass: all callers on
  // one machine count as one network, and no caller may lock the others out.
  const countFailure = options.dev === undefined ? createRateLimit(FAILURES) : undefined;
  const ownAnswers = createOwnAnswers(options);
  const { body: limit } = options.limits;
  const bodies = createQuota({
    each: Math.max(limit, BODY_BYTES.each),
    all: Math.max(limit, BODY_BYTES.all),
    detail: BUSY,
  });

  const take: NonNullable<Client['take']> =
    client.take ??
    ((call, answered) => {
      client.call(call).then(answered, (error) => answered(failureReply(error, call.traceId ?? '')));
    });

  function call(
    operation: OperationId,
    route: string,
    request: IncomingMessage,
    response: ServerResponse,
    { params, paramFault, query: { pairs: query, fault: queryFault } }: RouteMatch,
  ): void {
    const { address, remote: peer } = peerOf(request.socket);
    let applicationId: string | undefined;
    let refused: Problem | undefined;
    const coding = request.headers['content-encoding'];
    const contentCoding = coding === undefined || /^\s*(?:identity)?\s*$/i.test(coding) ? undefined : coding;
    let body: SentBody | Promise<SentBody> | undefined;
    const read = (account: string) => {
      body ??= readBody(request, response, { limit, bodies, account });
      return body;
    };
    const sent = {
      operation,
      apiKey: headerOf(request, keyHeader),
      idempotencyKey: headerOf(request, idempotencyHeader),
      mediaType: request.headers['content-type'],
      contentCoding,
      params,
      paramFault,
      query,
      queryFault,
      readBody: announcedLength(request) === 0 ? undefined : read,
      fromBrowser: cors.isFromBrowser(request) || undefined,
      peer,
      isAbandoned: () => hasLeft(response),
      onCaller: (known: string, account: string) => {
        if (applicationId === undefined) refused = countCall?.(account);
        applicationId = known;
        if (refused !== undefined) throw refused;
      },
      traceId: traceIdOf(request),
    };
    take(sent, (reply) => {
      // The text of the body is no longer needed.
      body = undefined;
      const tooMany = reply.status === 401 ? countFailure?.(networkOf(address)) : undefined;
      // The client went away before its body ended.
      if (request.destroyed && !request.complete) return;
      // RFC 9110 §12.5.3: the field shows that the coding is the reason for a 415, not the content type.
      const fields = reply.status === 415 && contentCoding !== undefined ? NO_CODING : undefined;
      const more = { route, operation, applicationId, ...(fields && { fields }) };
      answer(response, tooMany ? problemReply(tooMany, reply.traceId) : reply, more);
    });
  }

  function answerOwn(name: OwnPath, request: IncomingMessage, response: ServerResponse): void {
    const traceId = traceIdOf(request);
    const route = OWN_PATHS[name];
    // A page that rebinds its name to this machine may read these answers, so it learns no more than the status.
    const isBare = isForeign(request);
    ownAnswers[name](isBare).then(
      (bodyText) => answer(response, { status: 200, bodyText, traceId }, { operation: name, route }),
      (thrown: unknown) => {
        const error = isBare ? new Problem('vault_busy') : thrown;
        // `/readyz` returns 503 for every error.
        const { status, detail } = error instanceof Problem ? error : {};
        const isOther = name === 'readyz' && status !== 503;
        const reply = failureReply(isOther ? new Problem('vault_busy', detail ? { detail } : {}) : error, traceId);
        answer(response, reply, { operation: name, route });
      },
    );
  }

  function answerNotFound(request: IncomingMessage, response: ServerResponse): void {
    const traceId = traceIdOf(request);
    const allow = allowedMethods(request.url ?? '');
    const fields = allow === undefined ? undefined : cors.preflightFields(request, allow);
    if (fields !== undefined) {
      answer(response, { status: 204, traceId }, { fields });
      return;
    }
    const problem = new Problem(allow === undefined ? 'route_not_found' : 'method_not_allowed');
    answer(response, problemReply(problem, traceId), { allow });
  }

  return (request, response) => {
    const match = findRoute(request.method ?? '', request.url ?? '');
    if (match === undefined) answerNotFound(request, response);
    else if (match === 'bad_path') {
      const problem = new Problem('invalid_request', { detail: 'The path is not validly percent-encoded.' });
      answer(response, problemReply(problem, traceIdOf(request)));
    } else if ('own' in match.route) answerOwn(match.route.own, request, response);
    else {
      const { operation, path: route } = match.route;
      call(operation, route, request, response, match);
    }
  };
}

/**
 * Returns the value of the header `name`, which must be in lower case, or undefined if the request has no such header.
 */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const sent = headers[name];
  return typeof sent === 'string' ? sent : undefined;
}

const NO_CODING = ['Accept-Encoding', 'identity'] as const;

/**
 * Returns functions that resolve to the bodies of the daemon's own paths, as JSON text; with `isBare`, those of probes
 * have only the status. `readyz` rejects while the vault cannot answer.
 */
function createOwnAnswers(
  options: EndpointContext['options'],
): Readonly<Record<OwnPath, (isBare: boolean) => Promise<string>>> {
  const { version, headerPrefix, ready, notices } = options;
  const root = JSON.stringify({
    name: 'token-vault',
    description: 'A token vault: sensitive data in, tokens out.',
    version,
    openapi: OWN_PATHS.openapi,
    live: OWN_PATHS.livez,
    ready: OWN_PATHS.readyz,
  });
  const livez = JSON.stringify({ status: 'live', version });
  const bareLivez = JSON.stringify({ status: 'live' });

  return {
    root: async () => root,
    // Built on first use: most daemons never need it.
    openapi: loadedOnce(async () => {
      const { openApiText } = await import('../contract/openapi/openapi.ts');
      return openApiText({ version, headerPrefix });
    }),
    livez: async (isBare) => (isBare ? bareLivez : livez),
    readyz: async (isBare) => {
      await ready();
      const named = isBare ? [] : ((await notices?.()) ?? []);
      return JSON.stringify({ status: 'ready', ...(named.length > 0 && { notices: named }) });
    },
  };
}
