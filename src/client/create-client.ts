import type { Call, Reply } from '../contract/call.ts';
import { OPERATIONS, type Operation, type OperationId } from '../contract/operations.ts';
import type { ProblemCode } from '../contract/problems.ts';
import { SENDABLE } from '../contract/schema.ts';
import { type MemberErrors, memberLines } from '../core/problem.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import type { VaultClient } from './api.generated.ts';
import type { ApplicationKeyWithText, ApplicationWithKey, CallOptions } from './api-types.ts';
import { checkNames } from './check-options.ts';
import { checkRequest, isSignal, pairsOf } from './check-request.ts';
import { parseText, readProblem } from './decode-problem.ts';
import { requestPath } from './request-path.ts';
import { signalOfFetch } from './signal-of-fetch.ts';

export type * from './api.generated.ts';
export type { ApplicationKeyWithText, ApplicationWithKey, CallOptions, ProblemCode };

/** The part of `fetch` that a client uses. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal: AbortSignal; redirect: 'error' },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

export interface ClientOptions {
  /** The URL of the daemon, such as `http://127.0.0.1:8484`. A Unix socket needs a `fetch` that supports it. */
  readonly url: string;
  /** The API key. White space and a byte order mark around it, as in a file, are removed. */
  readonly apiKey: string;
  /** The prefix of the header names. Default: `SVC`. */
  readonly headerPrefix?: string | undefined;
  /**
   * The timeout of one call including its body, in milliseconds. Default: 30,000. `0` and `Infinity` mean none; the
   * maximum is 2,147,483,647 (24.8 days), which replaces larger values.
   */
  readonly timeout?: number | undefined;
  /** A signal that aborts every call of the client. */
  readonly signal?: AbortSignal | undefined;
  /** The function that sends requests. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined;
}

/** The error for a reply that is a problem, or that is not a reply of a vault. */
export class VaultError extends Error {
  override readonly name = 'VaultError';
  /** The last part of the problem's `type`. `not_a_vault` when another program sent the response. */
  readonly code: ProblemCode | 'not_a_vault';
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The errors, by dotted path of the member. */
  readonly errors: MemberErrors;
  /** For `idempotency_mismatch` of a call that succeeded: the ids of the records that it created or changed. */
  readonly ids: readonly string[];
  /** The seconds to wait before a retry, for a 429 or 503. */
  readonly retryAfter: number | undefined;
  readonly traceId: string;

  /** Creates the error from a response. `body` is the parsed body. */
  constructor(status: number, body: object, more: { readonly traceId: string; readonly retryAfter?: number }) {
    const problem = readProblem(body);
    const isOfVault = problem?.code !== undefined;
    const code = problem?.code ?? 'not_a_vault';
    const detail = isOfVault ? problem.detail : `The server is not a vault (status ${status}).`;
    // The message contains the members and their errors, never the values.
    const members = isOfVault ? memberLines(problem.errors).join('; ') : '';
    super([`${code}: ${detail}`, members].filter((part) => part !== '').join(' '));
    this.code = code;
    this.status = status;
    this.title = problem?.title ?? '';
    this.detail = detail;
    this.errors = problem?.errors ?? {};
    this.ids = problem?.ids ?? [];
    this.retryAfter = more.retryAfter;
    this.traceId = more.traceId;
  }
}

/**
 * Makes `instanceof` accept an error from any copy of this class. A program may load several copies: as a module, as
 * CommonJS, and through `token-vault/testing`.
 */
Object.defineProperty(VaultError, Symbol.hasInstance, {
  value(this: unknown, error: unknown): boolean {
    if (typeof error !== 'object' || error === null) return false;
    if (this === VaultError && 'name' in error && error.name === 'VaultError' && 'traceId' in error) return true;
    return typeof this === 'function' && Object.prototype.isPrototypeOf.call(this.prototype, error);
  },
});

/** The options of a client that do not depend on its transport. */
export const OPTIONS_OF_EACH = ['apiKey', 'timeout', 'signal'] as const satisfies readonly (keyof ClientOptions)[];

const DEFAULT_TIMEOUT_MS = 30_000;
/** The maximum delay of a timer. A longer one would end at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const SENDABLE_KEY = new RegExp(SENDABLE);

/** Sends a request with the global `fetch` of this moment, which a test may replace. jest's jsdom has none. */
const globalFetch: Fetch = (url, init) => {
  if (globalThis.fetch === undefined) {
    throw new TypeError('there is no global fetch; pass the option fetch to createClient');
  }
  return globalThis.fetch(url, { ...init, signal: signalOfFetch(init.signal) });
};

/**
 * Creates a client of the API for programs. The client needs nothing but `fetch` and runs in Node and in browsers.
 * Numbers in results are doubles: `9007199254740993` and `1.10` in `data` lose their text, as with any `JSON.parse`.
 * Keep such values in strings. Throws a `TypeError` for an unknown, missing or invalid option, and for a URL that `fetch` does not
 * support or that has credentials, a query or a fragment.
 */
export function createClient(options: ClientOptions): VaultClient {
  if (typeof options?.url !== 'string') throw new TypeError('createClient: url must be a string');
  checkNames('createClient', ['url', 'headerPrefix', 'fetch', ...OPTIONS_OF_EACH], options);
  const base = options.url.replace(/\/+$/, '');
  if (!/^https?:\/\//i.test(base) && options.fetch === undefined) {
    throw new TypeError('url must begin with http:// or https://; for a Unix socket, pass a fetch that supports it');
  }
  // fetch would reject each call, with the password in its message.
  if (/^[^/]*\/\/[^/]*@/.test(base)) throw new TypeError('url must have no user name and no password');
  // A path that is appended to a query or a fragment never reaches the daemon.
  if (/[?#]/.test(base)) throw new TypeError('url must have no query and no fragment');
  const prefix = options.headerPrefix ?? 'SVC';

  return typedClient(options, async (call, signal) => {
    const { method, path: template }: Operation = OPERATIONS[call.operation];
    const path = requestPath(template, call.params, call.query, encodeURIComponent);
    const body = call.bodyText !== undefined && { body: call.bodyText };
    const sent = { method, headers: headersOf(call), ...body, redirect: 'error' } as const;
    const response = await (options.fetch ?? globalFetch)(`${base}${path}`, { ...sent, signal });
    const { status, headers } = response;
    const after = headers.get('retry-after');
    return {
      status,
      bodyText: await response.text(),
      traceId: headers.get(`${prefix}-TRACE-ID`) ?? '',
      ...(after !== null && Number.isFinite(Number(after)) && { retryAfter: Number(after) }),
    };
  });

  function headersOf({ apiKey = '', mediaType, traceId, idempotencyKey }: Call): Record<string, string> {
    return {
      accept: 'application/json, application/problem+json',
      ...(SENDABLE_KEY.test(apiKey) && { [`${prefix}-API-KEY`]: apiKey }),
      ...(traceId !== undefined && { [`${prefix}-TRACE-ID`]: traceId }),
      ...(idempotencyKey !== undefined && { [`${prefix}-IDEMPOTENCY-KEY`]: idempotencyKey }),
      ...(mediaType !== undefined && { 'content-type': mediaType }),
    };
  }
}

/**
 * Creates a client that sends its calls with `send`. When the signal of a call aborts, `send` must reject with the
 * signal's reason. Throws a `TypeError` for a missing or invalid option.
 *
 * @internal
 */
export function typedClient(
  options: Pick<ClientOptions, 'apiKey' | 'timeout' | 'signal'>,
  send: (call: Call, signal: AbortSignal) => Promise<Reply>,
): VaultClient {
  const apiKey = typeof options?.apiKey === 'string' ? options.apiKey.trim() : '';
  if (apiKey === '') throw new TypeError('client: apiKey must be a non-empty string');
  const { timeout = DEFAULT_TIMEOUT_MS, signal: ofAll } = options;
  if (typeof timeout !== 'number' || !(timeout >= 0)) {
    throw new TypeError('client: timeout must be a number of milliseconds from 0');
  }
  if (ofAll !== undefined && !isSignal(ofAll)) throw new TypeError('client: signal must be an AbortSignal');
  const operations = (Object.keys(OPERATIONS) as OperationId[]).map((id): readonly [string, unknown] => {
    const row: Operation = OPERATIONS[id];
    const operation = async (request: AnyRequest = {}) => {
      checkRequest(id, row, request);
      const call = callOf(id, row, request, apiKey);
      const { signal, end } = limit(timeout, [ofAll, request.signal]);
      try {
        return resultOf(row, await send(call, signal));
      } finally {
        end();
      }
    };
    return [id, operation];
  });
  return Object.fromEntries(operations) as object as VaultClient;
}

function callOf(operation: OperationId, row: Operation, request: AnyRequest, apiKey: string): Call {
  const { params = {}, query, body, traceId, idempotencyKey = keyOf(row) } = request;
  const call = { operation, apiKey, params, query: pairsOf(operation, row, query), traceId, idempotencyKey };
  if (row.body === undefined) return call;
  if (row.bodyOptional && body === undefined) return call;
  return { ...call, mediaType: row.mediaType ?? 'application/json', bodyText: JSON.stringify(body ?? {}) };
}

function resultOf({ result }: Operation, { status, bodyText = '', traceId, retryAfter }: Reply): unknown {
  if (status === 204) return undefined;
  const body = parseText(bodyText);
  const isObject = typeof body === 'object' && body !== null;
  const isAny = result !== undefined && result.type === undefined && body !== undefined;
  if ((status === 200 || status === 201) && (isAny || isObject)) return body;
  throw new VaultError(status, isObject ? body : {}, { traceId, ...(retryAfter !== undefined && { retryAfter }) });
}

/**
 * Returns a random idempotency key for an operation that creates a record, else undefined. Also returns undefined on
 * insecure web pages, where browsers offer no UUIDs.
 */
function keyOf({ method, status }: Operation): string | undefined {
  if (method !== 'POST' || status !== 201) return undefined;
  const { crypto }: { readonly crypto?: { readonly randomUUID?: () => string } } = globalThis;
  return crypto?.randomUUID?.();
}

/** The argument of a call of any operation. */
interface AnyRequest extends CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

/**
 * Returns a signal that aborts with the given signals or after `timeout` milliseconds, and a function that releases it.
 * A `timeout` of 0 or `Infinity` is none. Replaces `AbortSignal.any`, which some browsers lack.
 */
function limit(timeout: number, signals: readonly (AbortSignal | undefined)[]) {
  const controller = new AbortController();
  const given = signals.filter((signal) => signal !== undefined);
  const abort = (): void => controller.abort(given.find(({ aborted }) => aborted)?.reason);
  const late = (): void => controller.abort(new DOMException(`no answer within ${timeout} ms`, 'TimeoutError'));
  const hasTimeout = timeout > 0 && timeout !== Number.POSITIVE_INFINITY;
  const timer = hasTimeout ? setTimeout(late, Math.min(timeout, MAX_TIMEOUT_MS)) : undefined;
  for (const signal of given) signal.addEventListener('abort', abort);
  if (given.some(({ aborted }) => aborted)) abort();
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      for (const signal of given) signal.removeEventListener('abort', abort);
    },
  };
}
