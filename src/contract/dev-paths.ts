/** The paths that only a daemon started with `--dev` answers. They are no part of the API: no row, no OpenAPI. */
export const DEV_PATHS = {
  clock: '/dev/clock',
  faults: '/dev/faults',
  requests: '/dev/requests',
  snapshots: '/dev/snapshots',
  snapshot: '/dev/snapshots/{name}',
  snapshotLoad: '/dev/snapshots/{name}/load',
  reset: '/dev/reset',
} as const;

/** The `User-Agent` of `vault ui --url`: its requests are not shown among those of a `--dev` daemon. */
export const CONSOLE_AGENT = 'token-vault-console';

/** A request for one of the paths. */
export interface DevRequest {
  readonly method: string;
  /** May have a query. */
  readonly path: `/dev/${string}`;
  /** The key of a management application. */
  readonly apiKey: string;
  readonly body?: object | undefined;
}

/** A fault for the next `times` matching requests: it replaces their reply or precedes it. */
export interface DevFault {
  /** A method, or `*`, and a path: `POST /tokens`, `GET /tokens/{id}`. */
  readonly request: string;
  /** The status of the problem to return. */
  readonly status?: number;
  /** Seconds; for a 429 or 503. */
  readonly retry_after?: number;
  /** Milliseconds. */
  readonly delay_ms?: number;
  /** Closes the connection without an answer. */
  readonly drop?: boolean;
  /** How many more times it happens. */
  readonly times: number;
}

/** An answered request. No path, query value, header or body, since these hold ids and data. */
export interface DevRequestEntry {
  /** Counts the requests from 1. */
  readonly id: number;
  readonly time: string;
  readonly method: string | undefined;
  /** The path of the table: `/tokens/{id}`. Absent for a path of no operation. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number | undefined;
  /** Bytes of the body of the reply. */
  readonly bytes: number;
  readonly application_id: string | undefined;
  readonly trace_id: string;
  /** The code of the problem that was the reply. */
  readonly problem: string | undefined;
  /** The names of the members that the problem is about. */
  readonly members: readonly string[] | undefined;
}
