import type { TokenIndexes, TokenRecord } from './ports.ts';

export type InsertTokenOutcome =
  | { readonly outcome: 'inserted' }
  /** A live token has the same fingerprint; this is the oldest. Only with `deduplicate`. */
  | { readonly outcome: 'duplicate'; readonly token: TokenRecord }
  /** A token with this id exists, or existed. */
  | { readonly outcome: 'id_taken' };

/** A token to insert together with others. */
export interface NewToken {
  readonly token: TokenRecord;
  readonly indexes: TokenIndexes;
  readonly deduplicate: boolean;
}

/** Why a token was not inserted together with others. */
export interface InsertObstacle {
  /** Its position among the others, from 0. */
  readonly at: number;
  /** The oldest live token with its fingerprint, perhaps one of the others. Absent when the id is taken. */
  readonly duplicate?: TokenRecord | undefined;
}
