import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Client } from '../contract/call.ts';
import { DEV_PATHS } from '../contract/dev-paths.ts';
import { loadedOnce } from '../core/loaded-once.ts';
import { invalid, Problem, problemReply } from '../core/problem.ts';
import { createQuota } from '../core/quota.ts';
import { createRateLimit } from '../core/rate-limit.ts';
import { runningTime, setTimeout } from '../core/timers.ts';
import { networkOf, peerOf } from '../http/connected-clients.ts';
import type { Cors } from '../http/cors.ts';
import {
  type ConsoleContext,
  type ConsoleRequests,
  createEndpoints,
  FAILURES,
  headerOf,
  type RequestContext,
  type SendToDev,
} from '../http/endpoints.ts';
import { readBody } from '../http/read-body.ts';
import { failureReply } from '../http/request-log.ts';
import type { About } from './about.ts';
import { loadAssets } from './assets.ts';
import { CONSOLE_FIELDS } from './console-headers.ts';
import { foreignOrigin } from './guard.ts';
import { type ConsoleKey, createIdentities } from './identities.ts';
import { createPageActions, type HolderCommands, type PageActions, type Sent } from './page-actions.ts';
import { type ConsoleSession, createSessions, type Opened, type SessionOptions } from './sessions.ts';

/** The maximum size of a body in bytes, except for calls of the API. */
const MAX_BODY = 4096;
/** The maximum time that the reply with a new secret waits for the description of the session, in milliseconds. */
const ABOUT_MS = 250;
const SECRET_HEADER = 'x-vault-console';
const ACTIVE_HEADER = 'x-vault-active';
const AS_HEADER = 'x-vault-as';

/** The settings of a console. Times are in milliseconds. */
export interface ConsoleOptions extends Pick<SessionOptions, 'idleMs' | 'lifeMs' | 'code' | 'confirm'> {
  /** Receives the calls of the page. */
  readonly client: Client;
  /** The API keys of every session. */
  readonly apiKeys: readonly ConsoleKey[];
  /** Facts that the page shows about the vault. `url` is absent when the daemon itself serves the console. */
  readonly about: Pick<About, 'header_prefix' | 'audit_level' | 'commands'> & Partial<Pick<About, 'url'>>;
  /** Sends requests to the dev controls of a vault behind a daemon. */
  readonly sendToDev?: SendToDev | undefined;
  /** Runs commands on the vault's file. Absent without the file and its key. */
  readonly holder?: HolderCommands | undefined;
  readonly secure: boolean;
  /** A monotonic clock; `performance.now` by default. */
  readonly now?: (() => number) | undefined;
  /** Called for every request of a page. */
  readonly onRequest?: (() => void) | undefined;
}

/** The CORS rules of a console: no other origin may read its responses. */
const NO_CORS: Cors = { isFromBrowser: () => false, fields: () => [], preflightFields: () => undefined };

/**
 * Creates the server half of the console. It serves the page, keeps the sessions, and makes the page's calls with the
 * API keys of the session.
 */
export function createConsole(console: ConsoleOptions, context: ConsoleContext): ConsoleRequests {
  const { client, apiKeys, about, holder, secure, now = runningTime, onRequest } = console;
  const { traceIdOf } = context;
  const sendToDev = console.sendToDev ?? context.sendToDev;
  const scheme = secure ? 'https' : 'http';
  const assets = loadedOnce(loadAssets);
  assets().catch(() => undefined); // A request for an asset loads them again.
  const countFailure = createRateLimit(FAILURES, now);
  const bodies = createQuota({ each: MAX_BODY * 256, all: MAX_BODY * 256 });
  const sessions = createSessions({
    ...console,
    now,
    identities: () => createIdentities(client, apiKeys, sendToDev),
    ended: endReads,
  });
  /** The responses to unfinished reads, by session. */
  const reads = new WeakMap<ConsoleSession, Set<ServerResponse>>();
  const endpoints = new WeakMap<ConsoleSession, RequestListener>();

  const answer: RequestContext['answer'] = (response, reply, more = {}) =>
    context.answer(response, reply, { ...more, fields: [...CONSOLE_FIELDS, ...(more.fields ?? [])], isUnlogged: true });

  function refuse(request: IncomingMessage, response: ServerResponse, problem: Problem, allow?: string): void {
    answer(response, problemReply(problem, traceIdOf(request)), { allow });
  }

  function noteRead(session: ConsoleSession, response: ServerResponse): void {
    const responses = reads.get(session) ?? new Set();
    reads.set(session, responses.add(response));
    response.once('close', () => responses.delete(response));
  }

  /** Answers the reads of a session that has ended, so that a long poll returns no more data. */
  function endReads(session: ConsoleSession): void {
    for (const response of reads.get(session) ?? []) refuse(response.req, response, new Problem('console_locked'));
  }

  /**
   * Returns the name of the session cookie. It contains the port that the browser uses, because cookies ignore ports
   * (RFC 6265 §8.5) and a host may show two consoles, each on the same port of its own container.
   */
  const cookieName = ({ headers, socket }: IncomingMessage) => {
    const [, port = socket.localPort ?? 'socket'] = /:(\d+)$/.exec(headers.host ?? '') ?? [];
    return `${secure ? '__Host-' : ''}vault_console_${port}`;
  };

  function setCookie(request: IncomingMessage, value: string): readonly string[] {
    const scope = secure ? 'Secure; Path=/' : 'Path=/ui/';
    return ['Set-Cookie', `${cookieName(request)}=${value}; HttpOnly; SameSite=Strict; ${scope}`];
  }

  function sessionOf(request: IncomingMessage): ConsoleSession | undefined {
    const name = `${cookieName(request)}=`;
    const cookies = (request.headers.cookie ?? '').split('; ').filter((pair) => pair.startsWith(name));
    const isActive = request.headers[ACTIVE_HEADER] !== undefined;
    return sessions.find(
      cookies.map((pair) => pair.slice(name.length)),
      headerOf(request, SECRET_HEADER),
      isActive,
    );
  }

  async function bodyOf(request: IncomingMessage, response: ServerResponse): Promise<Sent> {
    // A form of another site can send other types.
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
      throw new Problem('unsupported_media_type');
    const { bodyText = '', bodyFault } = await readBody(request, response, { limit: MAX_BODY, bodies });
    if (bodyFault === 'too_large') throw new Problem('body_too_large');
    try {
      const value: unknown = JSON.parse(bodyText);
      if (typeof value === 'object' && value !== null) return { ...value };
    } catch (cause) {
      throw new Problem('malformed_json', { cause });
    }
    throw new Problem('invalid_request', { detail: 'The body must be a JSON object.' });
  }

  async function aboutOf({ identities }: ConsoleSession, request: IncomingMessage): Promise<About> {
    const known = await identities.describe();
    const dev = await identities.callDev({ method: 'GET', path: DEV_PATHS.clock }, traceIdOf(request));
    return {
      url: request.headers.origin ?? `${scheme}://${request.headers.host}`,
      ...about,
      dev: dev.status === 200,
      file: holder !== undefined,
      identities: known,
    };
  }

  /** Resolves to the description of a new session, or to undefined if the vault fails or is slow. */
  async function aboutSoon(session: ConsoleSession, request: IncomingMessage): Promise<object | undefined> {
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, ABOUT_MS, undefined).unref());
    return Promise.race([aboutOf(session, request).catch(() => undefined), late]);
  }

  async function open(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const traceId = traceIdOf(request);
    const { code, wait } = await bodyOf(request, response);
    const opened = await openBy(code, wait);
    if (opened === undefined) {
      const tooMany = countFailure(networkOf(peerOf(request.socket).address));
      refuse(request, response, tooMany ?? new Problem('console_locked'));
    } else if (opened === 'refused') refuse(request, response, new Problem('console_refused'));
    else if ('number' in opened) answer(response, { status: 202, bodyText: JSON.stringify(opened), traceId });
    else {
      const { secret } = opened;
      const bodyText = JSON.stringify({ secret, about: await aboutSoon(opened.session, request) });
      answer(response, { status: 200, bodyText, traceId }, { fields: setCookie(request, opened.cookie) });
    }
  }

  async function openBy(code: unknown, wait: unknown): Promise<Opened | undefined> {
    if (typeof code === 'string') return sessions.open(code);
    if (typeof wait === 'string') return sessions.awaitAnswer(wait);
    throw invalid('code', 'is required');
  }

  function showAsset(request: IncomingMessage, response: ServerResponse, name: string): void {
    assets().then(
      (show) => show(request, response, name) || refuse(request, response, new Problem('route_not_found')),
      (error: unknown) => answer(response, failureReply(error, traceIdOf(request))),
    );
  }

  function callApi(session: ConsoleSession, request: IncomingMessage, response: ServerResponse): void {
    let listener = endpoints.get(session);
    if (listener === undefined) {
      const own = {
        ...context,
        answer,
        cors: NO_CORS,
        keyHeader: AS_HEADER,
        idempotencyHeader: 'x-vault-idempotency-key',
      };
      listener = createEndpoints(session.identities.client, own);
      endpoints.set(session, listener);
    }
    request.url = request.url?.slice('/ui/api'.length);
    listener(request, response);
  }

  const actionsAt = createPageActions({ aboutOf, lock: sessions.lock, bodyOf, holder, traceIdOf });

  function act(
    actions: PageActions,
    session: ConsoleSession,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { method = '' } = request;
    const action = Object.hasOwn(actions, method) ? actions[method] : undefined;
    if (action === undefined) {
      refuse(request, response, new Problem('method_not_allowed'), Object.keys(actions).join(', '));
      return;
    }
    action(session, request, response).then(
      (reply) => answer(response, reply),
      (error: unknown) => answer(response, failureReply(error, traceIdOf(request))),
    );
  }

  return (request, response, refused) => {
    const { url = '', method = '' } = request;
    const path = url.replace(/\?.*$/, '');
    const foreign = foreignOrigin(request, secure);
    if (refused !== undefined) return refuse(request, response, refused);
    if (foreign !== undefined) {
      return refuse(
        request,
        response,
        new Problem(foreign, { detail: 'Only the page of this console may send requests.' }),
      );
    }
    onRequest?.();
    if (path === '/ui/session' && method === 'POST') {
      open(request, response).catch((error: unknown) => answer(response, failureReply(error, traceIdOf(request))));
      return;
    }
    const isCall = path.startsWith('/ui/api/');
    const actions = actionsAt(path);
    if (!isCall && actions === undefined) {
      const isRead = method === 'GET' || method === 'HEAD';
      if (!isRead) return refuse(request, response, new Problem('method_not_allowed'), 'GET, HEAD');
      return showAsset(request, response, path.slice('/ui/'.length));
    }
    const session = sessionOf(request);
    if (session === undefined) return refuse(request, response, new Problem('console_locked'));
    if (method === 'GET') noteRead(session, response);
    if (isCall) callApi(session, request, response);
    else if (actions !== undefined) act(actions, session, request, response);
  };
}
