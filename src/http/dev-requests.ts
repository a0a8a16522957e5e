import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Reply } from '../contract/call.ts';
import { DEV_PATHS } from '../contract/dev-paths.ts';
import { invalid, Problem } from '../core/problem.ts';
import { problemReply } from '../core/problem-reply.ts';
import { formatInstant, parseInstant } from '../core/time.ts';
import { createByteBudget } from './byte-budget.ts';
import type { DevControls } from './daemon-options.ts';
import { createDevFaults, problemOfFault, readDevFault } from './dev-faults.ts';
import { headerOf, type RequestContext } from './endpoints.ts';
import { createFailureLimit, FAILURES_A_SECOND } from './failure-limit.ts';
import { isOwnMachine } from './own-hosts.ts';
import { readBody } from './read-body.ts';
import { failureReply } from './request-log.ts';

const MAX_BODY = 64 * 1024;
/** Bytes of all bodies together. */
const MAX_BODIES = 1024 * 1024;
/** The last millisecond of the year 9999. */
const LAST_INSTANT = 253_402_300_799_999;
const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** The parts of the daemon that these requests use. */
export interface DevContext extends RequestContext {
  readonly controls: DevControls;
  readonly client: Client;
  /** The request comes from a web page. */
  readonly isFromBrowser: (request: IncomingMessage) => boolean;
}

type Sent = Readonly<Record<string, unknown>>;
/** Resolves to the body of the reply; undefined: 204. */
type Action = (sent: Sent) => Promise<object | undefined>;

/** Takes a request before the router does. `next` hands it on. */
export type DevRequests = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/**
 * What a `--dev` daemon has before its router: the paths below `/dev/`, for management keys on this machine, and the
 * faults that they have asked for. A fault comes before everything else that a request would meet, its key included.
 */
export function createDevRequests({ controls, client, ...context }: DevContext): DevRequests {
  const { keyHeader, traceIdOf, isFromBrowser, answer } = context;
  const countFailure = createFailureLimit(FAILURES_A_SECOND);
  const budget = createByteBudget(MAX_BODIES);
  const faults = createDevFaults();
  const { clock } = controls;

  const shownClock = (removed?: number) => ({
    now: formatInstant(clock.now()),
    offset_ms: clock.offset(),
    ...(removed !== undefined && { removed }),
  });
  const shownFaults = () => ({ data: faults.list() });

  const ACTIONS: Readonly<Record<string, Readonly<Record<string, Action>>>> = {
    [DEV_PATHS.clock]: {
      GET: async () => shownClock(),
      PUT: async (sent) => shownClock(await clock.set(timeOf(sent))),
      POST: async (sent) => shownClock(await clock.advance(advanceOf(sent, clock.now()))),
      DELETE: async () => shownClock(await clock.reset()),
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

  async function reply(request: IncomingMessage, response: ServerResponse, action: Action): Promise<Reply> {
    const traceId = traceIdOf(request);
    try {
      const refused = await refusalOf(request, traceId);
      if (refused !== undefined) return refused;
      const body = await readBody(request, response, { limit: MAX_BODY, budget });
      if (body.bodyFault !== undefined) {
        throw new Problem(body.bodyFault === 'too_large' ? 'body_too_large' : 'malformed_json');
      }
      const result = await action(parse(body.bodyText));
      return result === undefined
        ? { status: 204, traceId }
        : { status: 200, bodyText: JSON.stringify(result), traceId };
    } catch (error) {
      return failureReply(error, traceId);
    }
  }

  /** Only management keys pass: no other type of application may read the tenant. */
  async function refusalOf(request: IncomingMessage, traceId: string): Promise<Reply | undefined> {
    const apiKey = headerOf(request, keyHeader);
    const fromBrowser = isFromBrowser(request);
    const asked = await client.call({ operation: 'getTenant', apiKey, params: {}, query: [], fromBrowser, traceId });
    if (asked.status === 200) return undefined;
    if (asked.status !== 401) return asked;
    const tooMany = countFailure(addressOf(request));
    return tooMany ? problemReply(tooMany, traceId) : asked;
  }

  function fail(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const fault = faults.take(request.method ?? '', request.url ?? '');
    if (fault === undefined) {
      next();
      return;
    }
    const problem = problemOfFault(fault);
    const happen = (): void => {
      if (fault.drop) request.socket.destroy();
      else if (problem === undefined) next();
      else answer(response, problemReply(problem, traceIdOf(request)));
    };
    if (fault.delay_ms === undefined) happen();
    else setTimeout(happen, fault.delay_ms).unref();
  }

  return (request, response, next) => {
    const path = (request.url ?? '').replace(/\?.*$/, '').replace(/\/$/, '');
    const actions = Object.hasOwn(ACTIONS, path) && isOwnMachine(addressOf(request)) ? ACTIONS[path] : undefined;
    if (actions === undefined) {
      fail(request, response, next);
      return;
    }
    const { method = '' } = request;
    const action = Object.hasOwn(actions, method) ? actions[method] : undefined;
    if (action === undefined) {
      const refused = problemReply(new Problem('method_not_allowed'), traceIdOf(request));
      answer(response, refused, { route: path, allow: Object.keys(actions).join(', ') });
      return;
    }
    void reply(request, response, action).then((made) => answer(response, made, { route: path }));
  };
}

/** A Unix socket has none. */
function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

function parse(text: string | undefined): Sent {
  if (text === undefined || text === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Problem('malformed_json', { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Problem('invalid_request', { detail: 'The body must be a JSON object.' });
}

function onlyMember(sent: Sent, name: string): unknown {
  const stray = Object.keys(sent).find((each) => each !== name);
  if (stray !== undefined) throw invalid(stray, `is not known; the body is { ${name} }`);
  return sent[name];
}

function timeOf(sent: Sent): number {
  const now = onlyMember(sent, 'now');
  const instant = typeof now === 'string' && ISO.test(now) ? parseInstant(now) : Number.NaN;
  if (instant >= 0 && instant <= LAST_INSTANT) return instant;
  throw invalid('now', 'must be an ISO 8601 time with its offset, from 1970 to 9999: 2030-01-31T12:00:00Z');
}

function advanceOf(sent: Sent, now: number): number {
  const by = onlyMember(sent, 'advance_ms');
  if (typeof by === 'number' && Number.isInteger(by) && by >= 0 && now + by <= LAST_INSTANT) return by;
  throw invalid('advance_ms', 'must be a whole number of milliseconds, at least 0 and to no later year than 9999');
}
