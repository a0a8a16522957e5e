/** The limits that flags of `vault serve` change (decisions §9). The schemas hold the other limits. */
export interface Limits {
  /** The maximum bytes of a request's body. */
  readonly body: number;
  /** The maximum bytes of a request's path and query. */
  readonly url: number;
  /** The maximum bytes of a request's header section. */
  readonly headers: number;
  /** The maximum nesting of arrays and objects in a body. */
  readonly depth: number;
  /** The maximum bytes of a response's body. */
  readonly response: number;
  /** The maximum number of live expiring applications that one application created (decisions §6). */
  readonly expiring: number;
}

/**
 * The upper bound of the depth limit. `parseJson` must be able to read a deeper reply: a mask can embed all of `data`
 * in its innermost expression, so a masked form may be twice as deep, and a reply nests it a few levels deeper.
 */
export const MAX_DEPTH = 500;

/** The maximum bytes of the JSON text of a token's data. */
export const MAX_DATA = 4 * 1024 * 1024;

/** The maximum bytes of a sealed value within a page. Longer values are read one at a time. */
export const MAX_LISTED = 64 * 1024;

/** The maximum bytes of the JSON text of a token's mask, expressions and metadata together. */
export const MAX_DEFINITION = 1024 * 1024;

/**
 * The lower bound of the response limit, in bytes. The reply with the largest token is smaller: `MAX_DATA`,
 * `MAX_DEFINITION`, and a few KiB for the other members.
 */
export const MIN_RESPONSE = 8 * 1024 * 1024;

/**
 * The steps that the expressions of one token may take together: `base`, and `perByte` for each byte of its data. The
 * prices of the filters make a step last at most 80 ns, so expressions over small data take at most about 5 ms.
 */
export const EXPRESSION_STEPS = { base: 64 * 1024, perByte: 4 } as const;

/** The maximum number of requests in one Tokenize, and of tokens in one Detokenize. */
export const MAX_BATCH = 1_000;

/** The time for which the reply to a call with an idempotency key is kept, in milliseconds. */
export const REPLY_LIFE_MS = 24 * 60 * 60 * 1000;

export const DEFAULT_LIMITS: Limits = {
  body: 1024 * 1024,
  url: 8 * 1024,
  headers: 16 * 1024,
  depth: 64,
  response: 16 * 1024 * 1024,
  expiring: 1000,
};
