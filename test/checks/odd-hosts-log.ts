import { type EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { CheckFailure } from './check.ts';
import { type DaemonProcess, endWithin, startServe, VAULT_BIN } from './daemon-process.ts';
import { makeMemoryFolder } from './folder.ts';
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
/** A request whose lines are all kept, since its key is valid. */
const KEPT_PATH = '/tenants/self';
const KEPT_OPERATION = 'getTenant';
const ANONYMOUS_PATHS = ['/unknown', '/tokens', '/', '/livez'] as const;
const STATUS_LINE = 'HTTP/1.1 ';

async function ask(daemon: DaemonProcess, path: string, requests: number, key?: string): Promise<void> {
  const shares = Array.from({ length: CONNECTIONS }, () => askOn(daemon, path, requests / CONNECTIONS, key));
  await Promise.all(shares);
}

async function askOn({ url }: DaemonProcess, path: string, requests: number, key = 'wrong'): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let replies = 0;
  let tail = '';
  socket.setEncoding('latin1').on('data', (text: string) => {
    replies += (tail + text).split(STATUS_LINE).length - 1;
    tail = text.slice(1 - STATUS_LINE.length);
  });
  const request = `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nSVC-API-KEY: ${key}\r\n\r\n`;
  for (let sent = 0; sent < requests; sent += BATCH) {
    socket.write(request.repeat(Math.min(BATCH, requests - sent)));
    while (replies < Math.min(sent + BATCH, requests)) await nextData(socket);
  }
  socket.destroy();
}

const nextData = (stream: EventEmitter) => once(stream, 'data', { signal: AbortSignal.timeout(MAX_WAIT_MS) });

function read({ child }: DaemonProcess): { text: string } {
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
  using folder = makeMemoryFolder();
  const words = ['--dev', '--log', 'json', '--output', 'ndjson'];
  const serve = (name: string) => startServe({ bin, readyFile: join(folder.path, name), words, output: 'unread' });
  const requests = REQUESTS[isSample ? 'quick' : 'full'];
  const daemon = await serve('one');
  const before = residentMiB(daemon.pid);
  await ask(daemon, KEPT_PATH, requests, daemon.ready.management_key);
  const grown = residentMiB(daemon.pid) - before;
  const received = read(daemon);
  while (!/log_lines_dropped.*\n/.test(received.text.slice(-MAX_LINE)) && received.text.length < MAX_WAITING + SLACK) {
    await nextData(daemon.child.stderr ?? daemon.child);
  }
  await endWithin(daemon, MAX_STOP_MS, 'SIGTERM');
  const lines = linesOf(received.text);
  const written = lines.filter((line) => JSON.parse(line).operation === KEPT_OPERATION).length;
  const dropped = sumOf(lines, 'lines');
  if (received.text.length > MAX_WAITING + SLACK) throw new CheckFailure(`${received.text.length} bytes waited`);
  if (written + dropped !== requests) throw new CheckFailure(`${written} + ${dropped} of ${requests} lines`);
  const stalled = await serve('two');
  await ask(stalled, KEPT_PATH, 2_000, stalled.ready.management_key);
  const begun = performance.now();
  const end = await endWithin(stalled, MAX_STOP_MS, 'SIGTERM');
  const stopMs = Math.round(performance.now() - begun);
  if (end !== 0) throw new CheckFailure(`with a stalled reader, the stop ended with ${end} after ${stopMs} ms`);
  return { written, dropped, grown_mib: Math.round(grown), stop_ms: stopMs };
}

/** One address asks without a valid key: 100 lines a minute for refusals and 100 for others, and one with the number of the others. */
export async function floodAnonymously(bin = VAULT_BIN): Promise<number> {
  using folder = makeMemoryFolder();
  const requests = 6_000;
  const words = ['--dev', '--log', 'json', '--output', 'ndjson'];
  const daemon = await startServe({ bin, readyFile: join(folder.path, 'ready'), words });
  for (const path of ANONYMOUS_PATHS) await ask(daemon, path, requests / ANONYMOUS_PATHS.length);
  await endWithin(daemon, MAX_STOP_MS, 'SIGTERM');
  const lines = linesOf(daemon.told());
  const written = lines.filter((line) => JSON.parse(line).status !== undefined).length;
  const counted = sumOf(lines, 'not_logged');
  if (written !== 2 * MAX_LINES || written + counted !== requests)
    throw new CheckFailure(`${written} lines and ${counted} counted of ${requests}`);
  return counted;
}
