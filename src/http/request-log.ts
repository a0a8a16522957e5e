import type { Reply } from '../contract/call.ts';
import { PROBLEM_TYPE_PREFIX } from '../contract/problems.ts';
import { errorCode, isError } from '../core/fault.ts';
import { writeLog } from '../core/log-output.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { MachineDate, runningTime, setImmediate, setTimeout, wallTime } from '../core/timers.ts';
import { networkOf } from './connected-clients.ts';

/** The facts of an answered request. */
export interface Answered {
  /** Absent when the request was not valid HTTP. */
  readonly method?: string | undefined;
  /** The operation, or the name of one of the daemon's own paths. */
  readonly operation?: string | undefined;
  /** The route's pattern (`/tokens/{id}`), never the path, which may contain a token id. */
  readonly route?: string | undefined;
  /** The calling application; absent when the key was not valid. */
  readonly applicationId?: string | undefined;
  /** The address of the client; absent on a Unix socket. */
  readonly peer?: string | undefined;
  /** `performance.now()` when the request's headers were read. */
  readonly start?: number | undefined;
  /** The length of the reply's body in bytes. */
  readonly bytes: number;
}

export type WriteLines = (text: string) => void;

let writeLines: WriteLines = writeLog;
let waiting = '';

/** Makes the log of this process go to `write` instead of stderr. */
export function redirectLog(write: WriteLines): void {
  writeLines = write;
}

/**
 * Collects the lines of one tick of the event loop and writes them together. A crash may lose those of the last tick;
 * an exit does not.
 */
function writeLine(line: string): void {
  if (waiting === '') setImmediate(writeWaiting);
  waiting += `${line}\n`;
}

function writeWaiting(): void {
  const lines = waiting;
  waiting = '';
  writeLines(lines);
}

process.on('exit', () => {
  for (const { end } of [refusals, answers].flatMap(Object.values)) end();
  if (waiting !== '') writeWaiting();
});

/**
 * An answered request as logs show it. It has no other parts of the request: a path, a header or a body may contain a
 * secret.
 */
export type RequestRecord = ReturnType<typeof requestRecord>;

export function requestRecord(reply: Reply, { method, route, applicationId, start }: Answered) {
  const took = tookOf(start);
  const ms = took === undefined ? undefined : Math.round(took * 1000) / 1000;
  const [trace_id, application_id] = [reply.traceId, applicationId];
  return { time: timeNow(), trace_id, method, route, status: reply.status, application_id, ms };
}

/** The last time as text. Many requests share a millisecond, and V8 takes half a microsecond to print one. */
let last = { now: Number.NaN, time: '' };

function timeNow(): string {
  const now = wallTime();
  if (now !== last.now) last = { now, time: new MachineDate(now).toISOString() };
  return last.time;
}

/** Returns the milliseconds since `start`, or undefined without it. */
export function tookOf(start: number | undefined): number | undefined {
  return start === undefined ? undefined : runningTime() - start;
}

/** Returns the code of the problem in a reply, or undefined for any other reply. */
export function problemCodeOf({ status, bodyText = '' }: Reply): string | undefined {
  return status >= 400 ? /"type":"([^"]*)"/.exec(bodyText)?.[1]?.slice(PROBLEM_TYPE_PREFIX.length) : undefined;
}

/** The functions that return the line of a request, by format. */
const LINES = {
  json: ({ time, trace_id, method, route, status, application_id, ms }, _, { operation, peer, bytes }) => {
    const level = status >= 500 ? 'error' : 'info';
    const record = { time, level, trace_id, peer, method, route, operation, status, application_id, ms, bytes };
    return JSON.stringify(record);
  },
  text: ({ method, route, status, application_id, ms }, reply) => {
    const took = ms === undefined ? undefined : `${ms.toFixed(1)} ms`;
    const application = application_id && `application ${application_id}`;
    const words = [method, route, status, took, application, problemCodeOf(reply)];
    return `vault: ${words.filter((word) => word !== undefined).join(' ')}`;
  },
} as const satisfies Record<string, (record: RequestRecord, reply: Reply, answered: Answered) => string>;

/** `json` for machines, `text` for people. */
export type LogFormat = keyof typeof LINES;

export function logRequest(format: LogFormat, record: RequestRecord, reply: Reply, answered: Answered): void {
  if (isAnonymous(record) && !limitOf(format, record).count(answered.peer ?? '')) return;
  writeLine(LINES[format](record, reply, answered));
}

/** Returns whether a request had no valid key: an unknown key (401) or path (404), malformed HTTP, a probe, … */
function isAnonymous({ status, application_id }: RequestRecord): boolean {
  return status < 500 && application_id === undefined;
}

/** The functions that return the line for requests without lines, by format. */
const COUNTED = {
  json: (peer, not_logged) =>
    JSON.stringify({ time: timeNow(), level: 'info', ...(peer !== '' && { peer }), not_logged }),
  text: (peer, count) =>
    `vault: ${count} more requests without a valid key${peer === '' ? '' : ` of ${peer}`} in a minute are not listed`,
} as const satisfies Record<LogFormat, (peer: string, count: number) => string>;

const createLimit = (format: LogFormat) => createLineLimit((peer, count) => writeLine(COUNTED[format](peer, count)));

const createLimits = () => ({ json: createLimit('json'), text: createLimit('text') }) as const;

/** The limits of anonymous requests. Frequent probes leave the lines of refusals alone. */
const [refusals, answers] = [createLimits(), createLimits()];

const limitOf = (format: LogFormat, { status }: RequestRecord) => (status >= 400 ? refusals : answers)[format];

/**
 * Returns the reply for an error. Logs the kind of an unknown error, never its message, which may quote the request.
 */
export function failureReply(error: unknown, traceId: string): Reply {
  if (error instanceof Problem) return problemReply(error, traceId);
  const kind = isError(error) ? error.name : typeof error;
  const code = errorCode(error);
  const line = { time: timeNow(), level: 'error', trace_id: traceId, error: kind, code };
  writeLine(JSON.stringify(line));
  return problemReply(code === 'ERR_MODULE_NOT_FOUND' ? filesReplaced() : new Problem('internal_error'), traceId);
}

/**
 * Returns the problem for replaced files: Node loads some modules on first use, and an update may have removed them.
 */
const filesReplaced = () =>
  new Problem('vault_busy', {
    detail: 'The files of the product were replaced while this program was running. Restart it.',
  });

/** The maximum number of lines of an address, or of a network of IPv6, in one minute. */
export const MAX_LINES = 100;
const WINDOW_MS = 60_000;
/** The maximum number of addresses that are counted apart. All further ones count as one. */
const MAX_PEERS = 10_000;
const OTHERS = 'others';

/**
 * Counts the lines that each address causes in a minute. Anybody can send requests without a key, and their lines would
 * fill the disk. At the end of the minute, `report` receives the number of lines beyond `MAX_LINES` of each address.
 */
export function createLineLimit(report: (peer: string, requests: number) => void) {
  let counts = new Map<string, number>();

  /** Ends the minute early, for example when the process exits. */
  function end(): void {
    const ended = counts;
    counts = new Map();
    for (const [peer, count] of ended) if (count > MAX_LINES) report(peer, count - MAX_LINES);
  }

  return {
    end,
    /** Counts a line of an address. Returns whether to write it. */
    count(address: string): boolean {
      const peer = networkOf(address);
      if (counts.size === 0) setTimeout(end, WINDOW_MS).unref();
      const key = counts.has(peer) || counts.size < MAX_PEERS ? peer : OTHERS;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count <= MAX_LINES;
    },
  };
}
