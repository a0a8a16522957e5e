/**
 * The paths that only a daemon started with `--dev` serves. They are not part of the API: no operation and no OpenAPI
 * path describes them.
 */
export const DEV_PATHS = {
  clock: '/dev/clock',
  faults: '/dev/faults',
  requests: '/dev/requests',
  snapshots: '/dev/snapshots',
  snapshot: '/dev/snapshots/{name}',
  snapshotLoad: '/dev/snapshots/{name}/load',
  reset: '/dev/reset',
} as const;

/** The `User-Agent` of `vault ui --url`. A `--dev` daemon omits requests with this agent from its request list. */
export const CONSOLE_AGENT = 'token-vault-console';

/** The tenant and the two API keys of a new vault for tests. */
export interface DevKeys {
  readonly tenant_id: string;
  /** All management permissions. */
  readonly management_key: string;
  /** All token permissions, through a rule on `/` with `reveal`. */
  readonly private_key: string;
}

/** A request for one of the `DEV_PATHS`. */
export interface DevRequest {
  readonly method: string;
  /** The path, which may include a query. */
  readonly path: `/dev/${string}`;
  /** The key of a management application. */
  readonly apiKey: string;
  readonly body?: object | undefined;
}

/** A fault for the next `times` matching requests. It replaces or delays their reply. */
export interface DevFault {
  /** A method or `*`, and a path: `POST /tokens`, `GET /tokens/{id}`. */
  readonly request: string;
  /** The status of the problem to return. */
  readonly status?: number;
  /** The `Retry-After` of a 429 or 503, in seconds. */
  readonly retry_after?: number;
  /** The delay before the reply, in milliseconds. */
  readonly delay_ms?: number;
  /** Whether to close the connection without a reply. */
  readonly drop?: boolean;
  /** The number of matching requests that the fault still applies to. */
  readonly times: number;
}

/** An answered request. Contains no path, query value, header or body, because these hold ids and data. */
export interface DevRequestEntry {
  /** The number of the request, from 1. */
  readonly id: number;
  readonly time: string;
  readonly method: string | undefined;
  /** The path of the operation, such as `/tokens/{id}`. Absent when no operation has the requested path. */
  readonly route: string | undefined;
  readonly status: number;
  readonly ms: number | undefined;
  /** The size of the reply's body in bytes. */
  readonly bytes: number;
  readonly application_id: string | undefined;
  readonly trace_id: string;
  /** The code of the problem in the reply. */
  readonly problem: string | undefined;
  /** The names of the members in the problem's `errors`. */
  readonly members: readonly string[] | undefined;
}
