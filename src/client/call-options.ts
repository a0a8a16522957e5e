/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Printable, at most 200 characters. A `VaultError` returns it as `traceId`. */
  readonly traceId?: string;
  /**
   * Printable ASCII, at most 200 characters. Repeating a change with the same key returns the first result and changes
   * nothing. Creates get a random key by default, so a `fetch` that retries is safe.
   */
  readonly idempotencyKey?: string;
}
