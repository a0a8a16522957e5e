import type { OperationId } from './operations.ts';

/** The body of a request: its text, or the reason why the transport could not decode it. */
export interface SentBody {
  readonly bodyText?: string | undefined;
  readonly bodyFault?: 'too_large' | 'not_utf8' | undefined;
}

/**
 * A request before any check. The daemon creates it from an HTTP request, the CLI from its flags. Both targets pass
 * bodies as text, so neither can change a value.
 */
export interface Call {
  readonly operation: OperationId;
  readonly apiKey?: string | undefined;
  /**
   * The idempotency key as sent. If an operation changes something, a call with the same key returns the stored reply.
   */
  readonly idempotencyKey?: string | undefined;
  /** The Content-Type as sent, with its parameters. */
  readonly mediaType?: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** The Content-Encoding as sent, unless it is `identity`. No operation accepts one. */
  readonly contentCoding?: string | undefined;
  /** The query parameters in the order sent. A repeated parameter has several entries. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The name of a query parameter that the transport could not decode. */
  readonly queryFault?: string | undefined;
  /** The name of a path parameter that the transport could not decode. `params` contains its value as sent. */
  readonly paramFault?: string | undefined;
  readonly bodyText?: string | undefined;
  /**
   * Returns the body; used instead of `bodyText`, because the daemon reads bodies only from callers that may send them.
   * Returns a promise while the body is incomplete, and the same body on every call. Its bytes count for the account.
   * Fails with the problems `vault_busy` and `request_timeout`.
   */
  readonly readBody?: ((account: string) => SentBody | Promise<SentBody>) | undefined;
  /** True when a web page sends the request. Only the daemon sets this. */
  readonly fromBrowser?: boolean | undefined;
  /** The remote address of a call from another machine. Only the daemon sets this. */
  readonly peer?: string | undefined;
  /**
   * Receives the id of the calling application and its account as soon as its API key is known. Throws a problem to
   * refuse the call. May be called several times in one call.
   */
  readonly onCaller?: ((applicationId: string, account: string) => void) | undefined;
  /** Returns whether the client has disconnected. Long work then ends. */
  readonly isAbandoned?: (() => boolean) | undefined;
  /** The trace id, which is the `instance` of a problem body; generated when absent. */
  readonly traceId?: string | undefined;
}

/** A reply: a result or a problem. `bodyText` is absent exactly when the status is 204. */
export interface Reply {
  readonly status: number;
  readonly bodyText?: string;
  /** The trace id of the call; generated for a problem. Empty for a result if the call had none. */
  readonly traceId: string;
  /** The seconds to wait before a retry. Set for 429, 503 and `idempotency_in_progress`. */
  readonly retryAfter?: number;
  /** Set when this is the stored reply of an earlier call with the same idempotency key. */
  readonly replayed?: true;
  /** Set for a large reply. Call it once when the client has read the reply: its bytes count until then. */
  readonly sent?: () => void;
}

/** The target of calls: an opened vault, or a daemon over HTTP. The same call gives the same reply through both. */
export interface Client {
  call(call: Call): Promise<Reply>;
  /**
   * Like `call`, but calls `answered` once instead of returning a promise. Calls that arrive in one turn of the event
   * loop are answered together.
   */
  take?(call: Call, answered: (reply: Reply) => void): void;
  /** Answers waiting calls immediately, now and later. A stopping daemon calls this. */
  endWaits?(): void;
  close(): Promise<void>;
}
