/** How long the daemon waits for clients that are slow, in milliseconds. */
export interface Timeouts {
  /** From the first byte of a request, or from the connection, to the end of its headers. */
  readonly headers: number;
  /** From the first byte of a request to the end of its body. */
  readonly request: number;
  /** How often the two above are looked at; Node's 30 s would let a slow header live that long. */
  readonly check: number;
  /** An idle connection between two requests. */
  readonly keepAlive: number;
  /** A connection on which nothing moves at all: a client that does not read its reply. */
  readonly stalled: number;
  /** From `stop()` until connections with a request still under way are cut. */
  readonly stop: number;
  /** For a client that sends on after a refusal, so that it reads the refusal and not a reset. */
  readonly linger: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  headers: 10_000,
  request: 30_000,
  check: 1_000,
  keepAlive: 65_000,
  stalled: 120_000,
  stop: 9_000,
  linger: 1_000,
};
