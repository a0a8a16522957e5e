import type { OperationId } from './operations.ts';

/** A request's body: its text, or the reason why the transport could not decode it. */
export interface SentBody {
  readonly bodyText?: string | undefined;
  readonly bodyFault?: 'too_large' | 'not_utf8' | undefined;
}

/**
 * One request before any check. The daemon makes it from an HTTP request, the CLI from its flags. Both targets pass
 * bodies as text, so neither can change a value.
 */
export interface Call {
  readonly operation: OperationId;
  readonly apiKey?: string | undefined;
  /** As sent. A repeated key returns the stored reply of an operation that changes something. */
  readonly idempotencyKey?: string | undefined;
  /** The Content-Type as sent, with its parameters. */
  readonly mediaType?: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** In the order sent; a repeated name is a repeated entry. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The name of a query parameter that the transport could not decode. */
  readonly queryFault?: string | undefined;
  /** The name of a path parameter that the transport could not decode; `params` has its value as sent. */
  readonly paramFault?: string | undefined;
  readonly bodyText?: string | undefined;
  /**
   * Reads the body and replaces `bodyText`: the daemon reads bodies only from callers that may send them. Returns a
   * promise while the body is arriving, and the same body on every call. Throws the problems `vault_busy` and
   * `request_timeout`.
   */
  readonly readBody?: (() => SentBody | Promise<SentBody>) | undefined;
  /** Set when a web page sends the request. Only the daemon sets it. */
  readonly fromBrowser?: boolean | undefined;
  /** The remote address of a call from another machine. Only the daemon sets it. */
  readonly peer?: string | undefined;
  /** Receives the id of the calling application as soon as its key is known, for the daemon's log. */
  readonly onCaller?: ((applicationId: string) => void) | undefined;
  /** The `instance` of a problem body; generated when absent. */
  readonly traceId?: string | undefined;
}

/** One answer: a result or a problem. `bodyText` is absent exactly when the status is 204. */
export interface Reply {
  readonly status: number;
  readonly bodyText?: string;
  readonly traceId: string;
  /** Seconds; set with 429, 503 and `idempotency_in_progress`. */
  readonly retryAfter?: number;
  /** The stored reply of an earlier call with the same idempotency key. */
  readonly replayed?: true;
}

/** The target of calls: an opened vault, or a daemon over HTTP. The same call gives the same reply through both. */
export interface Client {
  call(call: Call): Promise<Reply>;
  /**
   * `call` without a promise: calls `answered` once. Calls that arrive in one turn of the event loop are answered
   * together.
   */
  take?(call: Call, answered: (reply: Reply) => void): void;
  /** Answers waiting calls at once, now and later. A stopping daemon calls this. */
  endWaits?(): void;
  close(): Promise<void>;
}
