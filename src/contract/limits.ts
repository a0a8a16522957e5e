/** The limits that flags of `vault serve` change (decisions §9). The schemas have the others. */
export interface Limits {
  /** Bytes of a request's body. */
  readonly body: number;
  /** Bytes of a request's path and query. */
  readonly url: number;
  /** Bytes of a request's header section. */
  readonly headers: number;
  /** How deep arrays and objects may nest in a body. */
  readonly depth: number;
  /** Bytes of a response's body. */
  readonly response: number;
}

/**
 * No limit of depth is larger. A mask whose innermost expression gives all of `data` makes a masked form of twice that depth,
 * and a reply has it some levels deeper: `parseJson` reads all of it.
 */
export const MAX_DEPTH = 500;

/** Requests of one Tokenize, and tokens that one Detokenize names. */
export const MAX_BATCH = 1_000;

/** Milliseconds for which the reply to a call with an idempotency key is kept. */
export const REPLY_LIFE_MS = 24 * 60 * 60 * 1000;

export const DEFAULT_LIMITS: Limits = {
  body: 1024 * 1024,
  url: 8 * 1024,
  headers: 16 * 1024,
  depth: 64,
  response: 16 * 1024 * 1024,
};
