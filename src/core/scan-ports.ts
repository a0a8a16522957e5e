import type { ListOrder } from '../contract/page.ts';
import type { AuditEntry } from './audit/ports.ts';
import type { Instant, PageRequest, PresentedToken, TokenCondition, TokenFilter, TokenRecord } from './ports.ts';

/** A range of instants, both ends included. */
export interface TimeRange {
  readonly from: Instant;
  readonly to: Instant;
}

/** Search conditions other than ids, types and blind indexes. */
export type SearchCondition =
  | { readonly created_in: TimeRange }
  /** The token has an expiry in the range. */
  | { readonly expires_in: TimeRange }
  /** The bytes of `clear` from `offset` lie between `from` and `to`, both included. All three have the same length. */
  | { readonly clear_in: { readonly offset: number; readonly from: Uint8Array; readonly to: Uint8Array } }
  | { readonly every: readonly TokenCondition[] }
  | { readonly some: readonly TokenCondition[] }
  | { readonly not: TokenCondition };

/** A page that was found by reading at most a few thousand tokens. */
export interface FoundPage {
  /**
   * The tokens of the page. Values of more than `MAX_LISTED` bytes are empty. Absent when finding them requires a walk
   * (`walkTokens`).
   */
  readonly records: readonly PresentedToken[] | undefined;
  /**
   * The number of matches. Absent when counting them requires a walk. Above `MAX_TOTAL` the exact number is unknown.
   */
  readonly total: number | undefined;
}

/** The columns that a scan reads: all but `full`. `presented` is empty if it is longer than `MAX_LISTED`. */
export type ScannedToken = Omit<PresentedToken, 'full'>;

/** The token after which a scan continues, in its order. */
export type ScanPosition = Pick<TokenRecord, 'created_at' | 'id'>;

/** The result of one step of a scan. */
export interface ScanSlice {
  readonly records: readonly ScannedToken[];
  /** The position where the next step continues. Absent at the end. */
  readonly next?: ScanPosition | undefined;
}

/** The request for one step of a scan. */
export interface Scan {
  readonly after: ScanPosition | undefined;
  /** The order of the tokens; by default that of `findTokens`, `newest`. */
  readonly order?: ListOrder | undefined;
  readonly limit: number;
}

/** The request for one step of a walk to a page. */
export interface Walk extends Scan {
  /** The maximum number of tokens to examine; a store examines fewer when the filter has many conditions. */
  readonly limit: number;
  /** The number of matches to skip before `take` matches are returned. */
  readonly skip: number;
  readonly take: number;
}

export interface WalkSlice {
  /** The number of matches among the examined tokens. */
  readonly found: number;
  /** Values of more than `MAX_LISTED` bytes are empty. */
  readonly records: readonly PresentedToken[];
  /** The position where the next step continues. Absent at the end. */
  readonly next?: ScanPosition | undefined;
}

/** The part of the store that reads the tokens of a tenant in slices. */
export interface TokenScan {
  /** Examines the next tokens after `after` that may match the filter. */
  walkTokens(filter: TokenFilter, walk: Walk, now: Instant): Promise<WalkSlice>;
  /**
   * Reads `limit` tokens of the tenant after `after`, and resolves to the matching tokens. The duration of a step depends neither on the position nor on the filter.
   */
  scanTokens(filter: TokenFilter, slice: Scan, now: Instant): Promise<ScanSlice>;
}

/**
 * Synchronous reads of one snapshot of a store. A failed read of tokens is repeated outside the snapshot, where the store
 * waits for locks and reports problems.
 */
export interface SnapshotReads {
  /** Returns what `AuditStore.followAudit` resolves to. */
  followAudit(after: number, limit: number): readonly AuditEntry[];
  findPresentedToken(
    tenantId: string,
    id: string,
    now: Instant,
  ): PresentedToken | undefined | Promise<PresentedToken | undefined>;
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): FoundPage | Promise<FoundPage>;
}
