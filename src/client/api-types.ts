import type { Application, ApplicationKey } from './api.generated.ts';

/** An application with its API key, which the vault shows only once. With `create_key: false` it has no `key`. */
export interface ApplicationWithKey extends Application {
  readonly key: string;
}

/** An API key with its text, which the vault shows only once. */
export interface ApplicationKeyWithText extends ApplicationKey {
  readonly key: string;
}

/** The options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** The trace id of the call: printable ASCII, at most 200 characters. A `VaultError` returns it as `traceId`. */
  readonly traceId?: string | undefined;
  /**
   * The idempotency key of the call: printable ASCII, at most 200 characters. Repeating a change with the same key
   * returns the first result and changes nothing. Operations that create records get a random key by default, so a
   * `fetch` that retries is safe.
   */
  readonly idempotencyKey?: string | undefined;
}
