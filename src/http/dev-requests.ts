import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Reply, SentBody } from '../contract/call.ts';
import { CONSOLE_AGENT, DEV_PATHS } from '../contract/dev-paths.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { createQuota } from '../core/quota.ts';
import { formatInstant } from '../core/time.ts';
import { setTimeout } from '../core/timers.ts';
import { peerOf } from './connected-clients.ts';
import type { DevControls } from './daemon-options.ts';
import { advanceOf, type DevBody, parseDevBody, timeOf } from './dev-body.ts';
import { createDevFaults, problemOfFault, readDevFault } from './dev-faults.ts';
import { createDevRequestLog, readDevRequestsQuery } from './dev-request-log.ts';
import { createDevSnapshots } from './dev-snapshots.ts';
import { headerOf, type RequestContext, type SendToDev } from './endpoints.ts';
import { readBody } from './read-body.ts';
import { failureReply, type RequestRecord } from './request-log.ts';
import { findRoute } from './routes.ts';

const MAX_BODY = 64 * 1024;
/** The maximum number of bytes of all bodies together. */
const MAX_BODIES = 1024 * 1024;

/** The parts of the daemon that requests below `/dev/` use. */
export interface DevContext extends RequestContext {
  readonly controls: DevControls;
  readonly client: Client;
  /** Returns whether a web page sent the request. */
  readonly isFromBrowser: (request: IncomingMessage) => boolean;
}

/** Matches the paths that `GET /dev/requests` omits. */
const OWN_REQUESTS = /^\/dev\//;

/** A request to a control, from a connection or from the console of this daemon. */
interface DevCall {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly fromBrowser: boolean;
  readonly traceId: string;
  readonly readBody: () => SentBody | Promise<SentBody>;
}

/**
 * Answers a request to a control. Resolves to the body of the reply, or to undefined for a 204. `name` is the name in
 * the path.
 */
type Action = (sent: DevBody, url: string, name: string) => Promise<object | undefined>;

/**
 * Creates the handler of requests before the router of a `--dev` daemon. It serves the paths below `/dev/` to
 * management keys on this machine, and applies the faults that they have set. A fault applies before every other check
 * of a request, even of its key.
 */
export function createDevRequests({ controls, client, ...context }: DevContext) {
  const { keyHeader, traceIdOf, isFromBrowser, answer } = context;
  const bodies = createQuota({ each: MAX_BODIES, all: MAX_BODIES });
  const faults = createDevFaults();
  const snapshots = createDevSnapshots(controls.snapshots);
  const { clock } = controls;
  const requests = createDevRequestLog(clock.now);

  async function showClock(removed?: number) {
    const next = await clock.nextExpiry();
    return {
      now: formatInstant(clock.now()),
      offset_ms: clock.offset(),
      ...(next !== undefined && { next_expiry: formatInstant(next) }),
      ...(removed !== undefined && { removed }),
    };
  }
  const shownFaults = () => ({ data: faults.list() });

  const ACTIONS: Readonly<Record<string, Readonly<Record<string, Action>>>> = {
    [DEV_PATHS.clock]: {
      GET: () => showClock(),
      PUT: async (sent) => showClock(await clock.set(timeOf(sent))),
      POST: async (sent) => showClock(await clock.advance(advanceOf(sent, clock.now()))),
      DELETE: async () => showClock(await clock.reset()),
    },
    [DEV_PATHS.faults]: {
      GET: async () => shownFaults(),
      POST: async (sent) => {
        faults.add(readDevFault(sent));
        return shownFaults();
      },
      DELETE: async () => {
        faults.clear();
        return shownFaults();
      },
    },
    [DEV_PATHS.requests]: {
      GET: async (_sent, url) => ({ data: await requests.newer(readDevRequestsQuery(url)) }),
    },
    [DEV_PATHS.snapshots]: {
      GET: snapshots.list,
      POST: snapshots.save,
    },
    [DEV_PATHS.snapshot]: { DELETE: (_sent, _url, name) => snapshots.delete(name) },
    [DEV_PATHS.snapshotLoad]: { POST: (_sent, _url, name) => snapshots.load(name) },
    [DEV_PATHS.reset]: {
      POST: async () => {
        if (controls.reset === undefined) {
          throw new Problem('route_not_found', { detail: 'Only a temporary vault can be reset.' });
        }
        await controls.reset();
        faults.clear();
        await clock.reset();
        return undefined;
      },
    },
  };

  async function reply(call: DevCall, action: Action, name: string): Promise<Reply> {
    const { traceId } = call;
    try {
      const refused = await refusalOf(call);
      if (refused !== undefined) return refused;
      const body = await call.readBody();
      if (body.bodyFault !== undefined) {
        throw new Problem(body.bodyFault === 'too_large' ? 'body_too_large' : 'malformed_json');
      }
      const result = await action(parseDevBody(body.bodyText), call.url, name);
      return result === undefined
        ? { status: 204, traceId }
        : { status: 200, bodyText: JSON.stringify(result), traceId };
    } catch (error) {
      return failureReply(error, traceId);
    }
  }

  /**
   * Returns the reply that rejects a call, or undefined for a management key. Tries `getTenant`, which no other type of
   * application may call.
   */
  async function refusalOf({ apiKey, fromBrowser, traceId }: DevCall): Promise<Reply | undefined> {
    const asked = await client.call({ operation: 'getTenant', apiKey, params: {}, query: [], fromBrowser, traceId });
    return asked.status === 200 ? undefined : asked;
  }

  function fail(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const { method = '', url = '' } = request;
    const fault = faults.take(method, url);
    if (fault === undefined) {
      next();
      return;
    }
    const problem = problemOfFault(fault);
    const happen = (): void => {
      if (fault.drop) request.socket.destroy();
      else if (problem === undefined) next();
      else answer(response, problemReply(problem, traceIdOf(request)), routeOf(method, url));
    };
    if (fault.delay_ms === undefined) happen();
    else setTimeout(happen, fault.delay_ms).unref();
  }

  /** Handles a request before the router. Calls `next` to pass it on to the router. */
  function take(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const { method = '', url = '' } = request;
    const { actions, action, route, name } = find(method, url);
    if (actions === undefined || peerOf(request.socket).remote !== undefined) {
      fail(request, response, next);
      return;
    }
    const traceId = traceIdOf(request);
    if (action === undefined) {
      const refused = problemReply(new Problem('method_not_allowed'), traceId);
      answer(response, refused, { route, allow: Object.keys(actions).join(', ') });
      return;
    }
    const call = {
      ...{ url, traceId, apiKey: headerOf(request, keyHeader), fromBrowser: isFromBrowser(request) },
      readBody: () => readBody(request, response, { limit: MAX_BODY, bodies }),
    };
    void reply(call, action, name).then((made) => answer(response, made, { route }));
  }

  function find(method: string, url: string) {
    const { route, name } = devRouteOf(url.replace(/\?.*$/, '').replace(/\/$/, ''));
    const actions = Object.hasOwn(ACTIONS, route) ? ACTIONS[route] : undefined;
    const action = actions !== undefined && Object.hasOwn(actions, method) ? actions[method] : undefined;
    return { actions, action, route, name };
  }

  const ask: SendToDev = async ({ method, path, apiKey, body }, traceId) => {
    const { actions, action, name } = find(method, path);
    if (action === undefined) {
      return problemReply(new Problem(actions === undefined ? 'route_not_found' : 'method_not_allowed'), traceId);
    }
    const bodyText = body === undefined ? undefined : JSON.stringify(body);
    const call = { url: path, apiKey, fromBrowser: false, traceId, readBody: () => ({ bodyText }) };
    return reply(call, action, name);
  };

  return {
    take,
    ask,
    /** Keeps an answered request for `GET /dev/requests`. */
    note(record: RequestRecord, made: Reply, request: IncomingMessage | undefined): void {
      const isOfConsole = request?.headers['user-agent'] === CONSOLE_AGENT;
      if (!isOfConsole && !OWN_REQUESTS.test(request?.url ?? '')) requests.add(record, made);
    },
    /** Answers the requests that wait for `GET /dev/requests`. Later requests do not wait. */
    end: requests.end,
  };
}

/** Returns the route of a path, and the snapshot's name in it, or `''` for other paths. */
function devRouteOf(path: string): { readonly route: string; readonly name: string } {
  const [, name, load] = /^\/dev\/snapshots\/([^/]+)(\/load)?$/.exec(path) ?? [];
  if (name === undefined) return { route: path, name: '' };
  return { route: load === undefined ? DEV_PATHS.snapshot : DEV_PATHS.snapshotLoad, name };
}

function routeOf(method: string, url: string): { readonly route?: string } {
  const match = findRoute(method, url);
  return typeof match === 'object' ? { route: match.route.path } : {};
}
