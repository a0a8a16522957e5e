import type { Socket } from 'node:net';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { parseText } from './decode-problem.ts';
import {
  type Address,
  type HttpResponse,
  type HttpTransport,
  notAVault,
  parseAddress,
  unreachable,
} from './http-transport.ts';

const END_OF_HEAD = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/;
/** A header line: a name (RFC 9110 §5.6.2) and a value without line ends. */
const HEADER_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/**
 * Creates a transport that sends each request on its own connection, without Node's HTTP client, so commands with a
 * single call start sooner. It uses HTTP/1.0 (RFC 1945), so a server sends no chunks and no interim responses, and
 * closes the connection after the response. It rejects a response that is shorter than its declared length, and follows
 * no redirect, because that would forward the API key. `ca` holds the certificates to trust instead of Node's, as PEM
 * text. Throws the fault `usage` for an invalid URL; `send` rejects with `unreachable`.
 */
export function oneShotTransport(url: string, timeoutMs: number, ca?: string): HttpTransport {
  const address = parseAddress(url);
  return {
    async send({ method, path, headers, bodyText }) {
      const lines = Object.entries({ host: address.hostHeader, ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      const head = [`${method} ${address.base}${path} HTTP/1.0`, ...lines].join('\r\n');
      const socket = await open(address, ca);
      const answer = await exchange(socket, head + END_OF_HEAD + (bodyText ?? ''), url, timeoutMs);
      const response = parseResponse(answer);
      if (response === undefined) throw notAVault(url, ': incomplete response');
      return response;
    },
    async close() {},
  };
}

async function open({ secure, connection }: Address, ca: string | undefined): Promise<Socket> {
  const { connect, isIP } = await import('node:net');
  const { socketPath, host = '', port } = connection;
  if (socketPath !== undefined) return connect({ path: socketPath });
  if (!secure) return connect({ host, port: Number(port ?? 80) });
  const { connect: connectSecurely } = await import('node:tls');
  const servername = isIP(host) === 0 ? host : '';
  return connectSecurely({ host, port: Number(port ?? 443), servername, ...(ca !== undefined && { ca }) });
}

async function exchange(socket: Socket, text: string, url: string, timeoutMs: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const finish = (): void => resolve(Buffer.concat(chunks));
  const fail = (why: string, cause?: unknown): void => reject(unreachable(url, why, cause));
  const timer = setTimeout(fail, timeoutMs, `no answer within ${timeoutMs} ms`);
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // A server that answers before it has read a long body may reset the connection after its answer, so use the bytes
    // received.
    if (chunks.length > 0) finish();
    else fail(error.code ?? 'the connection was interrupted', error);
  });
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('end', finish);
  // Keep the sending side open, because a server may treat a half-closed connection as abandoned.
  socket.write(text);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Returns the response in the received bytes; undefined for an incomplete response. */
function parseResponse(answer: Buffer): HttpResponse | undefined {
  const end = answer.indexOf(END_OF_HEAD);
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = answer.toString('latin1', 0, end).split('\r\n');
  const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const [, name, value] = HEADER_LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    headers[name.toLowerCase()] ??= value;
  }
  const body = answer.subarray(end + END_OF_HEAD.length);
  const length = headers['content-length'];
  const isWhole = length === undefined ? isWholeText(body) : Number(length) === body.length;
  if (!Number.isInteger(status) || headers['transfer-encoding'] !== undefined || !isWhole) return undefined;
  return { status, headers, body };
}

/**
 * Returns whether a body without a declared length is complete. Such a response ends with its connection (RFC 1945
 * §7.2.2), so only the JSON text shows whether anything is missing.
 */
function isWholeText(body: Buffer): boolean {
  return body.length === 0 || parseText(body.toString('utf8')) !== undefined;
}
