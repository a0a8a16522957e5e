/** Options of every call beside its request. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Printable, at most 200 characters; comes back as `traceId` of a `VaultError`. */
  readonly traceId?: string;
  /**
   * Printable ASCII, at most 200 characters, for an operation that changes something: sent again with the same key it returns the
   * first result and changes nothing. A create has a random one unless it is given, for a `fetch` that repeats requests.
   */
  readonly idempotencyKey?: string;
}
