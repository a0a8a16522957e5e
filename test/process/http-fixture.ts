import { connect, type Socket } from 'node:net';
import type { Call, Client, Reply, SentBody } from '../../src/contract/call.ts';
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import { PROBLEM_TYPE_PREFIX, PROBLEMS, type ProblemCode, TITLES } from '../../src/contract/problems.ts';
import { Problem, problemReply } from '../../src/core/problem.ts';
import type { DaemonOptions } from '../../src/http/daemon-options.ts';

export const KEY = 'good';

/** A call whose body has been read. */
type WholeCall = Omit<Call, 'readBody'> & SentBody;

/** A client that answers with the call itself, so that tests see how the transport read a request. */
export interface EchoClient extends Client {
  readonly calls: WholeCall[];
  /** While set, calls wait for it before they answer. */
  gate: Promise<void> | undefined;
}

/** The application that owns every good key. */
export const APPLICATION_ID = '69cbfda3-79e9-4f58-b25f-6f68bd505227';

export function echoClient(): EchoClient {
  const client: EchoClient = {
    calls: [],
    gate: undefined,
    async call({ readBody, ...call }) {
      const traceId = call.traceId ?? '';
      try {
        const refused = refusalOf(call);
        const whole = { ...call, ...(refused ? {} : await readBody?.('')) };
        client.calls.push(whole);
        await client.gate;
        if (refused) throw refused;
        return answerTo(whole);
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        return problemReply(error, traceId);
      }
    },
    close: async () => undefined,
  };
  return client;
}

/** Returns the problem that precedes the body: 401, then 415. The dispatcher reports 413 and 400 after them. */
function refusalOf(call: Call): Problem | undefined {
  if (call.apiKey === 'crash') throw new TypeError('a secret in a message');
  if (call.apiKey !== KEY) return new Problem('unauthenticated');
  call.onCaller?.(APPLICATION_ID, APPLICATION_ID);
  return call.contentCoding !== undefined ? new Problem('unsupported_media_type') : undefined;
}

function answerTo(call: WholeCall): Reply {
  const traceId = call.traceId ?? '';
  if (call.bodyFault === 'too_large') throw new Problem('body_too_large');
  if (call.bodyFault === 'not_utf8') throw new Problem('malformed_json');
  if (call.paramFault !== undefined) throw new Problem('invalid_request');
  if (call.operation.startsWith('delete')) return { status: 204, traceId };
  return { status: 200, bodyText: JSON.stringify(call), traceId };
}

export function daemonOptions(changes: Partial<DaemonOptions> = {}): DaemonOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    headerPrefix: 'SVC',
    limits: { ...DEFAULT_LIMITS, body: 1000, url: 500, headers: 2000 },
    ready: async () => undefined,
    log: false,
    version: '0.0.0',
    ...changes,
  };
}

export interface RawResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export interface RawOutcome {
  readonly responses: readonly RawResponse[];
  /** Whether the daemon closed the connection. */
  readonly closed: boolean;
  readonly ms: number;
}

export interface RawOptions {
  /** Closes the sending side after the last bytes. */
  readonly halfClose?: boolean;
  /** Destroys the connection this many milliseconds after the last bytes, without waiting for a reply. */
  readonly abortAfter?: number;
  /** The number of final responses to wait for. Default: 1. */
  readonly expect?: number;
  /** Keeps reading until the daemon closes the connection. */
  readonly untilClosed?: boolean;
  /** Expects responses to a HEAD request, which announce a body but have none. */
  readonly head?: boolean;
  /** The pause between the pieces: milliseconds, or until the promise resolves. Default: 15. */
  readonly pause?: number | Promise<unknown>;
  /** The longest time to wait, in milliseconds. Default: 5,000. */
  readonly patience?: number;
}

/** Writes bytes piece by piece and reads the answer, without a client library between the test and the wire. */
export async function raw(
  target: number | string,
  pieces: string | Buffer | readonly (string | Buffer)[],
  options: RawOptions = {},
): Promise<RawOutcome> {
  const start = performance.now();
  const socket = typeof target === 'number' ? connect({ port: target, host: '127.0.0.1' }) : connect({ path: target });
  let received = '';
  let closed = false;
  const done = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, options.patience ?? 5_000);
    function check(): void {
      if (!closed && (options.untilClosed || isShort())) return;
      clearTimeout(timer);
      resolve();
    }
    function isShort(): boolean {
      try {
        return finals(received, options.head).length < (options.expect ?? 1);
      } catch {
        // Do not throw inside the event loop. The second parse below throws to the caller.
        return false;
      }
    }
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      check();
    });
    // A reset also closes the connection.
    socket.on('error', () => undefined);
    socket.on('end', () => {
      closed = true;
      check();
    });
    socket.on('close', () => {
      closed = true;
      check();
    });
  });
  await send(socket, pieces, options.pause ?? 15);
  if (options.halfClose) socket.end();
  if (options.abortAfter !== undefined) {
    await sleep(options.abortAfter);
    socket.resetAndDestroy();
  }
  await done;
  const outcome = { responses: finals(received, options.head), closed, ms: performance.now() - start };
  socket.destroy();
  return outcome;
}

async function send(
  socket: Socket,
  pieces: string | Buffer | readonly (string | Buffer)[],
  pause: number | Promise<unknown>,
): Promise<void> {
  const list = typeof pieces === 'string' || Buffer.isBuffer(pieces) ? [pieces] : pieces;
  for (const [i, piece] of list.entries()) {
    if (i > 0) await (typeof pause === 'number' ? sleep(pause) : pause);
    if (socket.destroyed) return;
    socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
  }
}

/** Returns the final responses in a byte stream. Skips 100 Continue. */
function finals(text: string, head = false): RawResponse[] {
  const found: RawResponse[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return found;
    const [line = '', ...fields] = rest.slice(0, end).split('\r\n');
    const match = /^HTTP\/1\.1 (\d{3}) /.exec(line);
    if (match === null) throw new Error(`not a status line: ${line}`);
    const headers = new Map<string, string>();
    for (const field of fields) {
      const colon = field.indexOf(':');
      const name = field.slice(0, colon).toLowerCase();
      if (headers.has(name)) throw new Error(`header twice: ${name}`);
      headers.set(name, field.slice(colon + 1).trim());
    }
    rest = rest.slice(end + 4);
    const status = Number(match[1]);
    if (status === 100) continue;
    const length = head || status === 204 ? 0 : Number(headers.get('content-length'));
    if (rest.length < length) return found;
    found.push({ status, headers, body: rest.slice(0, length) });
    rest = rest.slice(length);
  }
}

/** Returns the flaws of an error response. */
export function flawsOfProblem(response: RawResponse | undefined, code: ProblemCode): readonly string[] {
  if (response === undefined) return ['no response'];
  const { status } = PROBLEMS[code];
  const flaws: string[] = [];
  const expected = { type: PROBLEM_TYPE_PREFIX + code, title: TITLES[status], status };
  if (response.status !== status) flaws.push(`status ${response.status}`);
  if (response.headers.get('content-type') !== 'application/problem+json') flaws.push('content-type');
  if (Number(response.headers.get('content-length')) !== response.body.length) flaws.push('content-length');
  if (response.headers.get('cache-control') !== 'no-store') flaws.push('cache-control');
  if (response.headers.get('x-content-type-options') !== 'nosniff') flaws.push('x-content-type-options');
  if ((status === 429 || status === 503) !== response.headers.has('retry-after')) flaws.push('retry-after');
  const challenge = status === 401 ? 'ApiKey header="SVC-API-KEY"' : undefined;
  if (response.headers.get('www-authenticate') !== challenge) flaws.push('www-authenticate');
  const body = parsed(response.body);
  if (typeof body !== 'object' || body === null) return [...flaws, 'body'];
  const members = new Map(Object.entries(body));
  for (const [name, value] of Object.entries(expected)) if (members.get(name) !== value) flaws.push(`member ${name}`);
  if (typeof members.get('detail') !== 'string') flaws.push('member detail');
  if (members.get('instance') !== response.headers.get('svc-trace-id')) flaws.push('member instance');
  return flaws;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
