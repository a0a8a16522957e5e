/** The paths that only a daemon started with `--dev` answers. They are no part of the API: no row, no OpenAPI. */
export const DEV_PATHS = { clock: '/dev/clock', faults: '/dev/faults', reset: '/dev/reset' } as const;

/** The fault for the next `times` requests that match: in place of their reply, or before it. */
export interface DevFault {
  /** A method, or `*`, and a path: `POST /tokens`, `GET /tokens/{id}`. */
  readonly request: string;
  /** The problem to answer with, by its status. */
  readonly status?: number;
  /** Seconds; of a 429 or 503. */
  readonly retry_after?: number;
  /** Milliseconds. */
  readonly delay_ms?: number;
  /** The connection ends without an answer. */
  readonly drop?: boolean;
  /** How often it is still to happen. */
  readonly times: number;
}
