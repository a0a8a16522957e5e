import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** The bytes of a request on a keep-alive connection. */
export function requestBytes({ method, path, headers = {}, body }, host) {
  const lines = [`${method} ${path} HTTP/1.1`, `host: ${host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** Reads responses off a connection, one after the other: `take` answers `{ status, head, body }` when one is whole. */
class Responses {
  #bytes = Buffer.alloc(0);

  take(chunk) {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const end = this.#bytes.indexOf(HEAD_END);
    if (end < 0) return undefined;
    const head = this.#bytes.latin1Slice(0, end);
    const length = /\r\ncontent-length: (\d+)/i.exec(head);
    const from = end + HEAD_END.length;
    const to = from + (length === null ? 0 : Number(length[1]));
    if (this.#bytes.length < to) return undefined;
    const body = this.#bytes.subarray(from, to);
    this.#bytes = this.#bytes.subarray(to);
    return { status: Number(head.slice(9, 12)), head, body };
  }
}

/** One request on a connection of its own. */
export async function once(port, bytes) {
  const socket = connect(port, '127.0.0.1');
  const responses = new Responses();
  try {
    return await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('data', (chunk) => {
        const response = responses.take(chunk);
        if (response !== undefined) resolve(response);
      });
      socket.write(bytes);
    });
  } finally {
    socket.destroy();
  }
}

/**
 * Sends requests over `connections` keep-alive connections, one at a time on each, until `next` gives none or `seconds` are
 * over. Answers how many were answered, in how many seconds, and each one's time in milliseconds. Throws when a status is
 * not the expected one. `onResponse` is given each body.
 */
export async function load({ port, connections = 32, seconds = Number.POSITIVE_INFINITY, next, expected, onResponse }) {
  const times = [];
  const started = performance.now();
  const until = started + seconds * 1000;
  const run = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      const responses = new Responses();
      let sent = 0;
      const send = () => {
        const bytes = performance.now() < until ? next() : undefined;
        if (bytes === undefined) {
          socket.destroy();
          resolve();
          return;
        }
        sent = performance.now();
        socket.write(bytes);
      };
      socket.on('error', reject);
      socket.on('close', () => resolve());
      socket.on('connect', send);
      socket.on('data', (chunk) => {
        const response = responses.take(chunk);
        if (response === undefined) return;
        times.push(performance.now() - sent);
        if (response.status !== expected) {
          socket.destroy();
          reject(new Error(`answered ${response.status} instead of ${expected}: ${response.body}`));
          return;
        }
        onResponse?.(response);
        send();
      });
    });
  await Promise.all(Array.from({ length: connections }, run));
  return { count: times.length, seconds: (performance.now() - started) / 1000, times };
}

export function percentile(times, share) {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
