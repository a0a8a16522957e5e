import { type EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './memory-folder.ts';
import { endWithin, type Started, startServe } from './odd-hosts-daemon.ts';
import { residentMiB } from './process-figures.ts';

const MAX_WAITING = 4 * 1024 * 1024;
/** The buffers of the pipe and of this process. */
const SLACK = 512 * 1024;
const REQUESTS = { quick: 28_000, full: 400_000 } as const;
/** The requests that a connection sends without waiting. The daemon closes a connection at 100. */
const BATCH = 90;
const CONNECTIONS = 4;
const MAX_WAIT_MS = 10_000;
const MAX_STOP_MS = 4_000;
const MAX_LINES = 100;
/** The bytes at the end of the log that hold its last line. */
const MAX_LINE = 1_000;
const STATUS_LINE = 'HTTP/1.1 ';

/** Sends requests on several connections, and waits for all replies. */
async function ask(daemon: Started, path: string, requests: number): Promise<void> {
  const shares = Array.from({ length: CONNECTIONS }, () => askOn(daemon, path, requests / CONNECTIONS));
  await Promise.all(shares);
}

async function askOn({ url }: Started, path: string, requests: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let replies = 0;
  let tail = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    replies += (tail + text).split(STATUS_LINE).length - 1;
    tail = text.slice(1 - STATUS_LINE.length);
  });
  for (let sent = 0; sent < requests; sent += BATCH) {
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`.repeat(Math.min(BATCH, requests - sent)));
    while (replies < Math.min(sent + BATCH, requests)) await nextData(socket);
  }
  socket.destroy();
}

const nextData = (stream: EventEmitter) => once(stream, 'data', { signal: AbortSignal.timeout(MAX_WAIT_MS) });

function read({ child }: Started): { text: string } {
  const received = { text: '' };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    received.text += text;
  });
  return received;
}

const linesOf = (text: string) =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line.startsWith('{'));
const sumOf = (lines: readonly string[], member: string) =>
  lines.reduce((sum, line) => sum + Number(JSON.parse(line)[member] ?? 0), 0);

/** Nobody reads the log: at most 4 MiB wait, and each further line is counted. The stop does not wait for a reader. */
export async function stallReader(isSample: boolean, bin = VAULT_BIN) {
  const folder = makeMemoryFolder();
  const words = ['--dev', '--log', 'json', '--output', 'ndjson'];
  const serve = (name: string) => startServe({ bin, readyFile: join(folder.path, name), words, isUnread: true });
  const requests = REQUESTS[isSample ? 'quick' : 'full'];
  try {
    const daemon = await serve('one');
    const before = residentMiB(daemon.pid);
    await ask(daemon, '/livez', requests);
    const grown = residentMiB(daemon.pid) - before;
    const received = read(daemon);
    while (
      !/log_lines_dropped.*\n/.test(received.text.slice(-MAX_LINE)) &&
      received.text.length < MAX_WAITING + SLACK
    ) {
      await nextData(daemon.child.stderr ?? daemon.child);
    }
    daemon.child.kill('SIGTERM');
    await endWithin(daemon, MAX_STOP_MS);
    const lines = linesOf(received.text);
    const written = lines.filter((line) => JSON.parse(line).operation === 'livez').length;
    const dropped = sumOf(lines, 'lines');
    if (received.text.length > MAX_WAITING + SLACK) throw new CheckFailure(`${received.text.length} bytes waited`);
    if (written + dropped !== requests) throw new CheckFailure(`${written} + ${dropped} of ${requests} lines`);
    const stalled = await serve('two');
    await ask(stalled, '/livez', 2_000);
    const begun = performance.now();
    stalled.child.kill('SIGTERM');
    const end = await endWithin(stalled, MAX_STOP_MS);
    const stopMs = Math.round(performance.now() - begun);
    if (end !== 0) throw new CheckFailure(`with a stalled reader, the stop ended with ${end} after ${stopMs} ms`);
    return { written, dropped, grown_mib: Math.round(grown), stop_ms: stopMs };
  } finally {
    folder.remove();
  }
}

/** One address asks for unknown paths without a key: 100 lines a minute, and one with the number of the others. */
export async function floodAnonymously(bin = VAULT_BIN): Promise<number> {
  const folder = makeMemoryFolder();
  const requests = 3_000;
  try {
    const words = ['--dev', '--log', 'json', '--output', 'ndjson'];
    const daemon = await startServe({ bin, readyFile: join(folder.path, 'ready'), words });
    await ask(daemon, '/unknown', requests);
    await ask(daemon, '/tokens', requests);
    daemon.child.kill('SIGTERM');
    await endWithin(daemon, MAX_STOP_MS);
    const lines = linesOf(daemon.told());
    const written = lines.filter((line) => JSON.parse(line).status >= 400).length;
    const counted = sumOf(lines, 'not_logged');
    if (written !== MAX_LINES || written + counted !== 2 * requests)
      throw new CheckFailure(`${written} lines and ${counted} counted of ${2 * requests}`);
    return counted;
  } finally {
    folder.remove();
  }
}
