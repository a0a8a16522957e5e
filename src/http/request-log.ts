import type { Reply } from '../contract/call.ts';
import { PROBLEM_TYPE_PREFIX } from '../contract/problems.ts';
import { Problem } from '../core/problem.ts';
import { problemReply } from '../core/problem-reply.ts';

/** The facts of an answered request. */
export interface Answered {
  /** Absent when the request was not HTTP enough to have one. */
  readonly method?: string | undefined;
  /** The pattern of the table, never the path: paths carry token ids. */
  readonly route?: string | undefined;
  /** The calling application; absent when the key was not valid. */
  readonly applicationId?: string | undefined;
  /** `performance.now()` when the request's headers were read. */
  readonly start?: number | undefined;
}

let waiting = '';

/** Writes the lines of one turn of the event loop together. A crash may lose those of the last turn; an exit does not. */
function writeLine(line: string): void {
  if (waiting === '') setImmediate(writeWaiting);
  waiting += `${line}\n`;
}

function writeWaiting(): void {
  process.stderr.write(waiting);
  waiting = '';
}

process.on('exit', () => {
  if (waiting !== '') writeWaiting();
});

/** Writes a request to stderr in one line, of these members and no others: a path, a header or a body may hold a secret. */
const LINES = {
  json: (reply, { method, route, applicationId }, ms) => {
    const level = reply.status >= 500 ? 'error' : 'info';
    const [time, trace_id, application_id] = [new Date().toISOString(), reply.traceId, applicationId];
    return JSON.stringify({ time, level, trace_id, method, route, status: reply.status, application_id, ms });
  },
  text: ({ status, bodyText = '' }, { method, route, applicationId }, ms) => {
    const problem =
      status >= 400 ? /"type":"([^"]*)"/.exec(bodyText)?.[1]?.slice(PROBLEM_TYPE_PREFIX.length) : undefined;
    const took = ms === undefined ? undefined : `${ms.toFixed(1)} ms`;
    const words = [method, route, status, took, applicationId && `application ${applicationId}`, problem];
    return `vault: ${words.filter((word) => word !== undefined).join(' ')}`;
  },
} as const satisfies Record<string, (reply: Reply, answered: Answered, ms: number | undefined) => string>;

/** `json` for machines, `text` for people. */
export type LogFormat = keyof typeof LINES;

/** Logs a request that is answered. */
export function logRequest(format: LogFormat, reply: Reply, answered: Answered): void {
  const { start } = answered;
  const ms = start === undefined ? undefined : Math.round((performance.now() - start) * 1000) / 1000;
  writeLine(LINES[format](reply, answered, ms));
}

/**
 * Returns the reply for an error. Logs the kind of an unknown error, never its message, which may quote the request.
 */
export function failureReply(error: unknown, traceId: string): Reply {
  if (error instanceof Problem) return problemReply(error, traceId);
  const kind = error instanceof Error ? error.name : typeof error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const line = { time: new Date().toISOString(), level: 'error', trace_id: traceId, error: kind, code };
  writeLine(JSON.stringify(line));
  return problemReply(new Problem('internal_error'), traceId);
}
