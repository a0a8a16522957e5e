import type { Instant, PageRequest, PresentedToken, TokenCondition, TokenFilter, TokenRecord } from './ports.ts';

/** Milliseconds, both ends included. */
export interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** Conditions of searches beside ids, types and blind indexes. */
export type SearchCondition =
  | { readonly created_in: TimeRange }
  /** The token has an expiry in the range. */
  | { readonly expires_in: TimeRange }
  /** The bytes of `clear` from `offset` on are `from`, `to` or between them. All three are equally long. */
  | { readonly clear_in: { readonly offset: number; readonly from: Uint8Array; readonly to: Uint8Array } }
  | { readonly every: readonly TokenCondition[] }
  | { readonly some: readonly TokenCondition[] }
  | { readonly not: TokenCondition };

/** A page that was found without reading more than some thousand tokens. */
export interface FoundPage {
  /** Absent when the page has to be walked to. */
  readonly records: readonly PresentedToken[] | undefined;
  /** Absent when the tokens have to be counted by a walk. Above `MAX_TOTAL` the exact number is unknown. */
  readonly total: number | undefined;
}

/** The columns that a scan reads: all but the value with the data. */
export type ScannedToken = Omit<PresentedToken, 'full'>;

/** A scan continues behind this token in the order of lists. */
export type ScanPosition = Pick<TokenRecord, 'created_at' | 'id'>;

/** A part of a scan. */
export interface ScanSlice {
  readonly records: readonly ScannedToken[];
  /** Absent at the end. */
  readonly next?: ScanPosition | undefined;
}

/** A part of a walk to a page. */
export interface Walk {
  readonly after: ScanPosition | undefined;
  /** How many tokens to look at; a store looks at fewer when each needs many tests. */
  readonly limit: number;
  /** How many of those that match to pass over, and how many to return behind them. */
  readonly skip: number;
  readonly take: number;
}

export interface WalkSlice {
  /** How many match, of those that were looked at. */
  readonly found: number;
  readonly records: readonly PresentedToken[];
  /** Absent at the end. */
  readonly next?: ScanPosition | undefined;
}

/** The part of the store that reads the tokens of a tenant in slices. */
export interface TokenScan {
  /** Looks at the next tokens behind `after` that the filter may have, in the order of `findTokens`. */
  walkTokens(filter: TokenFilter, walk: Walk, now: Instant): Promise<WalkSlice>;
  /**
   * Reads the `limit` tokens of the tenant behind `after`, in the order of `findTokens`, and resolves to those of the
   * filter. The time of a slice depends neither on its place nor on the filter.
   */
  scanTokens(filter: TokenFilter, slice: Pick<Walk, 'after' | 'limit'>, now: Instant): Promise<ScanSlice>;
}

/** Synchronous reads of one snapshot of a store. */
export interface SnapshotReads {
  /** As `Store.authorityVersion` resolves to. */
  readonly authorityVersion: string;
  findPresentedToken(tenantId: string, id: string, now: Instant): PresentedToken | undefined;
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): FoundPage;
}
