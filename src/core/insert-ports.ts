import type { TokenIndexes, TokenRecord } from './ports.ts';

export type InsertTokenOutcome =
  | { readonly outcome: 'inserted' }
  /** A live token has the same fingerprint; `token` is the oldest such token. Only with `deduplicate`. */
  | { readonly outcome: 'duplicate'; readonly token: TokenRecord }
  /** A token with this id exists, or existed. */
  | { readonly outcome: 'id_taken' };

/** A token to insert together with others. */
export interface NewToken {
  readonly token: TokenRecord;
  readonly indexes: TokenIndexes;
  readonly deduplicate: boolean;
}

/** The reason why a token was not inserted together with others. */
export interface InsertObstacle {
  /** The position of the token in the list, from 0. */
  readonly at: number;
  /** The oldest live token with the same fingerprint, perhaps one of the same list. Absent when the id is taken. */
  readonly duplicate?: TokenRecord | undefined;
}
