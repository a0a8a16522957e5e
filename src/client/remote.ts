import type { Call, Reply, SentBody } from '../contract/call.ts';
import type { DevRequest } from '../contract/dev-paths.ts';
import { OPERATIONS, type Operation } from '../contract/operations.ts';
import { HEADER_PREFIX, IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_RULE, SENDABLE } from '../contract/schema.ts';
import { decodeUtf8 } from '../core/bytes.ts';
import { Fault } from '../core/fault.ts';
import { Problem } from '../core/problem.ts';
import { decodeProblem, parseText } from './decode-problem.ts';
import {
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
  httpTransport,
  notAVault,
  type TransportOptions,
} from './http-transport.ts';
import { requestPath } from './request-path.ts';

export interface RemoteOptions extends TransportOptions {
  /** The prefix of the header names. Default: `SVC`. */
  readonly headerPrefix?: string | undefined;
  readonly userAgent?: string;
}

const ACCEPT = { accept: 'application/json, application/problem+json' };

const SENDABLE_TEXT = new RegExp(SENDABLE);
const HEADER_TEXT = new RegExp(IDEMPOTENCY_KEY);

/**
 * Returns a client for a daemon over HTTP. It converts each call into a request and the response into the reply. A call
 * rejects with the reason of its signal when that aborts.
 */
export function remoteClient(options: RemoteOptions) {
  const prefix = headerPrefixOf(options.headerPrefix);
  const { userAgent } = options;
  const transport = httpTransport(options);
  return {
    async call(call: Call, signal?: AbortSignal): Promise<Reply> {
      const request = requestOf({ ...call, bodyText: await bodyTextOf(call) }, prefix);
      const headers = userAgent === undefined ? request.headers : { ...request.headers, 'user-agent': userAgent };
      return replyOf(await transport.send({ ...request, headers }, signal), prefix, options.url);
    },
    close: transport.close,
  };
}

/**
 * Sends a request to a `--dev` daemon. A daemon without `--dev` answers `route_not_found`. Rejects with the faults of
 * the transport.
 */
export async function sendToDev(
  options: RemoteOptions,
  { method, path, apiKey, body }: DevRequest,
  transport: HttpTransport = httpTransport({ ...options, oneShot: true }),
): Promise<Reply> {
  const prefix = headerPrefixOf(options.headerPrefix);
  const bodyText = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...ACCEPT,
    [`${prefix}-api-key`]: apiKey,
    ...(bodyText !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(bodyText)),
    }),
  };
  return replyOf(await transport.send({ method, path, headers, bodyText }), prefix, options.url);
}

/**
 * Returns a function that sends many requests to a `--dev` daemon over persistent connections. `close` ends the
 * requests in progress.
 */
export function devSender(options: RemoteOptions) {
  const transport = httpTransport(options);
  return { send: (request: DevRequest) => sendToDev(options, request, transport), close: transport.close };
}

/**
 * Resolves to the body of a call. Rejects with the problems `body_too_large` and `malformed_json`, and those of
 * `Call.readBody`.
 */
async function bodyTextOf(call: Call): Promise<string | undefined> {
  const { bodyText, bodyFault }: SentBody = (await call.readBody?.('')) ?? call;
  if (bodyFault === undefined) return bodyText;
  throw new Problem(bodyFault === 'too_large' ? 'body_too_large' : 'malformed_json');
}

/** Returns the prefix of the header names, in lower case. Throws the fault `usage`. */
export function headerPrefixOf(given = 'SVC'): string {
  if (new RegExp(HEADER_PREFIX).test(given)) return given.toLowerCase();
  throw new Fault('usage', '--header-prefix must be letters, digits and dashes, beginning with a letter');
}

export function requestOf(call: Call, prefix: string): HttpRequest {
  const row: Operation = OPERATIONS[call.operation];
  const path = requestPath(row.path, call.params, call.query, encode);
  const headers: Record<string, string> = { ...ACCEPT };
  if (call.apiKey !== undefined && SENDABLE_TEXT.test(call.apiKey)) headers[`${prefix}-api-key`] = call.apiKey;
  if (call.traceId !== undefined && HEADER_TEXT.test(call.traceId)) headers[`${prefix}-trace-id`] = call.traceId;
  if (call.idempotencyKey !== undefined) {
    // An invalid key must not be dropped, because a retry would then repeat the change.
    if (!HEADER_TEXT.test(call.idempotencyKey)) throw new Fault('usage', `the idempotency key ${IDEMPOTENCY_KEY_RULE}`);
    headers[`${prefix}-idempotency-key`] = call.idempotencyKey;
  }
  if (call.mediaType !== undefined) headers['content-type'] = call.mediaType;
  if (call.bodyText !== undefined) headers['content-length'] = String(Buffer.byteLength(call.bodyText));
  return { method: row.method, path, headers, bodyText: call.bodyText };
}

function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (error) {
    throw new Fault('usage', 'an argument contains a lone surrogate, which is not valid Unicode', { cause: error });
  }
}

/** Returns the reply in a response. Throws the fault `unreachable` when another program sent the response. */
function replyOf(response: HttpResponse, prefix: string, url: string): Reply {
  const { status } = response;
  const sent = header(response, `${prefix}-trace-id`);
  // Every response of a vault has this header. Without the check, JSON of another program could pass for a result. An
  // error of another program is harmless.
  if (sent === undefined && status < 400) throw notAVault(url, ` (status ${status})`);
  const traceId = sent ?? '';
  if (status === 204) return { status, traceId };
  const mediaType = header(response, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  const expected = status >= 400 ? 'application/problem+json' : 'application/json';
  const isReply = mediaType === expected && (status >= 400 || status === 200 || status === 201);
  const bodyText = isReply ? decodeUtf8(response.body) : undefined;
  if (bodyText === undefined || (status >= 400 && decodeProblem(bodyText) === undefined)) {
    throw notAVault(url, ` (status ${status})`);
  }
  // The end of the connection ends a body without a length (RFC 9112 §6.3), so only its text shows whether it was cut.
  const isFramed = (header(response, 'content-length') ?? header(response, 'transfer-encoding')) !== undefined;
  if (!isFramed && parseText(bodyText) === undefined) throw notAVault(url, ': incomplete response');
  const retryAfter = Number(header(response, 'retry-after') ?? Number.NaN);
  const after = Number.isFinite(retryAfter) && { retryAfter };
  const isReplayed = header(response, `${prefix}-idempotent-replayed`) === 'true';
  return { status, bodyText, traceId, ...after, ...(isReplayed && { replayed: true }) };
}

function header(response: HttpResponse, name: string): string | undefined {
  const value = response.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}
