import type { Reply } from '../contract/call.ts';
import { Problem } from '../core/problem.ts';
import { problemReply } from '../core/problem-reply.ts';

/** What is known of a request when it is answered. */
export interface Answered {
  /** Absent when the request was not HTTP enough to have one. */
  readonly method?: string | undefined;
  /** The pattern of the table, never the path: paths carry token ids. */
  readonly route?: string | undefined;
  /** Who asked; absent when the key was not good. */
  readonly applicationId?: string | undefined;
  /** `performance.now()` when the request's headers were read. */
  readonly start?: number | undefined;
}

let waiting = '';

/** Writes the lines of one turn of the event loop together. A crash may lose those of the last turn; an exit does not. */
function writeLine(line: object): void {
  if (waiting === '') setImmediate(writeWaiting);
  waiting += `${JSON.stringify(line)}\n`;
}

function writeWaiting(): void {
  process.stderr.write(waiting);
  waiting = '';
}

process.on('exit', () => {
  if (waiting !== '') writeWaiting();
});

/** One line of JSON a request to stderr, of these members and no others: a path, a header or a body may hold a secret. */
export function logRequest(reply: Reply, { method, route, applicationId, start }: Answered): void {
  const line = {
    time: new Date().toISOString(),
    level: reply.status >= 500 ? 'error' : 'info',
    trace_id: reply.traceId,
    method,
    route,
    status: reply.status,
    application_id: applicationId,
    ms: start === undefined ? undefined : Math.round((performance.now() - start) * 1000) / 1000,
  };
  writeLine(line);
}

/** Returns the reply for what was thrown. Logs what no problem describes: its kind, never its message, which may quote what was sent. */
export function failureReply(error: unknown, traceId: string): Reply {
  if (error instanceof Problem) return problemReply(error, traceId);
  const kind = error instanceof Error ? error.name : typeof error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const line = { time: new Date().toISOString(), level: 'error', trace_id: traceId, error: kind, code };
  writeLine(line);
  return problemReply(new Problem('internal_error'), traceId);
}
