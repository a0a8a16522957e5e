import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** As many as issue and README speak of. */
export const CONNECTIONS = 32;

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

/** A connection that the server has taken: to its first request an answer came. */
async function open(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const responses = new Responses();
  await new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed before the first answer')));
    socket.on('data', (chunk) => {
      if (responses.take(chunk) !== undefined) resolve();
    });
    socket.write(requestBytes({ method: 'GET', path: '/livez' }, `127.0.0.1:${port}`));
  });
  socket.removeAllListeners();
  return { socket, responses };
}

/**
 * Sends requests over `connections` keep-alive connections, one at a time on each, until `next` gives none or `seconds` are
 * over. `next` gives bytes that are made already: this process does the same little work for every server, so that it is
 * no slower against one than against another. Throws when a status is not among the expected ones.
 *
 * The clock runs from when all connections have had an answer: a server takes new ones one a turn, so that the last of them
 * would wait for the work of all others before it is looked at, which is no request's time.
 *
 * Answers how many were answered, in how many seconds, each one's time in milliseconds, how many there were of each status,
 * and the share of one processor that this process took.
 */
export async function load({ port, connections = CONNECTIONS, seconds = Number.POSITIVE_INFINITY, next, expected }) {
  const times = [];
  const statuses = Object.fromEntries([expected].flat().map((status) => [status, 0]));
  const opened = await Promise.all(Array.from({ length: connections }, () => open(port)));
  const usedBefore = process.cpuUsage();
  const started = performance.now();
  const until = started + seconds * 1000;
  const run = ({ socket, responses }) =>
    new Promise((resolve, reject) => {
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
      socket.on('data', (chunk) => {
        const response = responses.take(chunk);
        if (response === undefined) return;
        times.push(performance.now() - sent);
        if (statuses[response.status] === undefined) {
          socket.destroy();
          reject(new Error(`answered ${response.status} instead of ${expected}: ${response.body}`));
          return;
        }
        statuses[response.status] += 1;
        send();
      });
      send();
    });
  await Promise.all(opened.map(run));
  const elapsed = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(usedBefore);
  return { count: times.length, seconds: elapsed, times, statuses, client: (user + system) / 1e6 / elapsed };
}
