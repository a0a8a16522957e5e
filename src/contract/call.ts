import type { OperationId } from './operations.ts';

/** A request's body: its text, or why the transport could not make text of it. */
export interface SentBody {
  readonly bodyText?: string | undefined;
  readonly bodyFault?: 'too_large' | 'not_utf8' | undefined;
}

/**
 * One request, before anything is checked. The seam where everything meets: the daemon makes it of an HTTP request, the
 * CLI of its flags. Bodies travel as text through both targets, so neither can change a value on the way.
 */
export interface Call {
  readonly operation: OperationId;
  readonly apiKey?: string | undefined;
  /** As sent: the same key again returns the stored reply, where the operation changes something. */
  readonly idempotencyKey?: string | undefined;
  /** The Content-Type as sent, with its parameters. */
  readonly mediaType?: string | undefined;
  readonly params: Readonly<Record<string, string>>;
  /** In the order sent; a repeated name is a repeated entry. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** The name of a query parameter that the transport could not make text of. */
  readonly queryFault?: string | undefined;
  /** The name of a path's parameter of which the same is true; its value in `params` is as it was sent. */
  readonly paramFault?: string | undefined;
  readonly bodyText?: string | undefined;
  /**
   * Reads the body, in place of `bodyText`: the daemon reads bodies only of callers that may send them. Returns a promise
   * while the body is arriving, and the same body on every call. Throws the problems `vault_busy` and `request_timeout`.
   */
  readonly readBody?: (() => SentBody | Promise<SentBody>) | undefined;
  /** A web page asks. Only the daemon sets it. */
  readonly fromBrowser?: boolean | undefined;
  /** The address that the call came from, where that is another machine. Only the daemon sets it. */
  readonly peer?: string | undefined;
  /** Called with the id of the calling application as soon as its key is known: for the daemon's log. */
  readonly onCaller?: ((applicationId: string) => void) | undefined;
  /** Returned as the problem body's `instance`; one is made when it is absent. */
  readonly traceId?: string | undefined;
}

/** One answer. A problem is a reply too. `bodyText` is absent exactly when the status is 204. */
export interface Reply {
  readonly status: number;
  readonly bodyText?: string;
  readonly traceId: string;
  /** Seconds; set with 429, 503 and `idempotency_in_progress`. */
  readonly retryAfter?: number;
  /** The stored reply of an earlier call with the same idempotency key. */
  readonly replayed?: true;
}

/** Where calls go: an opened vault, or a daemon over HTTP. The same call gives the same reply through both. */
export interface Client {
  call(call: Call): Promise<Reply>;
  /** The same without a promise: calls `answered` once. Calls that arrive in one turn of the event loop are answered together. */
  take?(call: Call, answered: (reply: Reply) => void): void;
  /** Answers calls that wait for something to happen, now and later: for a daemon that stops. */
  endWaits?(): void;
  close(): Promise<void>;
}
