import { connect } from 'node:net';

/** The number of connections in the README. */
export const CONNECTIONS = 32;

const HEAD_END = '\r\n\r\n';
const EMPTY: Buffer = Buffer.alloc(0);

interface LoadOptions {
  readonly port: number;
  readonly connections?: number;
  readonly seconds?: number;
  readonly next: Next;
  readonly expected: Statuses;
}

/** A request without its host. */
export interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

/** One status, or some. */
export type Statuses = number | readonly number[];

/** Returns the next request, or undefined after the last. */
export type Next = () => Buffer | undefined;

/** Returns the bytes of a request on a keep-alive connection. */
export function requestBytes({ method, path, headers = {}, body }: RequestParts, host: string): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}${HEAD_END}${body ?? ''}`);
}

/** Returns the complete response in the bytes, or undefined when a part is missing. */
function parseResponse(bytes: Buffer): Answer | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const from = end + HEAD_END.length;
  const to = from + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
  return bytes.length < to ? undefined : { status: Number(head.slice(9, 12)), head, body: bytes.subarray(from, to) };
}

/**
 * A keep-alive connection with one request at a time. It needs half the processor time of undici's Pool, which would
 * limit the benchmark: a bare server answered 7,000 requests a second to the Pool and 15,000 to this client.
 */
function openConnection(port: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let bytes = EMPTY;
  let waiting: PromiseWithResolvers<Answer> | undefined;
  socket.on('error', (error) => waiting?.reject(error));
  socket.on('close', () => waiting?.reject(new Error('the server closed the connection')));
  socket.on('data', (chunk: Buffer) => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    const response = parseResponse(bytes);
    if (response === undefined) return;
    bytes = EMPTY;
    waiting?.resolve(response);
  });
  const send = (request: Buffer) => {
    waiting = Promise.withResolvers();
    socket.write(request);
    return waiting.promise;
  };
  return { send, close: () => socket.destroy() };
}

/** Sends one request on a new connection; resolves to its answer. */
export async function once(port: number, bytes: Buffer): Promise<Answer> {
  const connection = openConnection(port);
  try {
    return await connection.send(bytes);
  } finally {
    connection.close();
  }
}

/** Returns a function that yields the requests in turn, `most` in all, and starts again after the last. */
export function inTurn(requests: readonly Buffer[], { most = Number.POSITIVE_INFINITY } = {}): Next {
  let given = 0;
  return () => (given < most ? requests[given++ % requests.length] : undefined);
}

/**
 * Sends requests over keep-alive connections until `next` returns undefined or `seconds` have passed. `next` returns
 * complete bytes, so that the client does the same little work for every server. Throws on an unexpected status.
 *
 * The clock starts after the first response on each connection, because a server accepts one connection per turn.
 *
 * Resolves to the number of responses, the seconds, the milliseconds of each request and the client's processor share.
 */
export async function load(options: LoadOptions) {
  const { port, connections = CONNECTIONS, seconds = Number.POSITIVE_INFINITY, next, expected } = options;
  const times: number[] = [];
  const statuses = [expected].flat();
  const first = requestBytes({ method: 'GET', path: '/livez' }, `127.0.0.1:${port}`);
  const opened = Array.from({ length: connections }, () => openConnection(port));
  await Promise.all(opened.map((connection) => connection.send(first)));
  const usedBefore = process.cpuUsage();
  const started = performance.now();
  const until = started + seconds * 1000;
  async function sendAll({ send }: ReturnType<typeof openConnection>): Promise<void> {
    for (let sent = performance.now(); sent < until; sent = performance.now()) {
      const bytes = next();
      if (bytes === undefined) return;
      const { status, body } = await send(bytes);
      times.push(performance.now() - sent);
      if (!statuses.includes(status)) throw new Error(`answered ${status} instead of ${expected}: ${body}`);
    }
  }
  try {
    await Promise.all(opened.map(sendAll));
  } finally {
    for (const { close } of opened) close();
  }
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(usedBefore);
  return { count: times.length, seconds: elapsed, times, client: (user + system) / 1e6 / elapsed };
}
