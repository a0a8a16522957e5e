import type { Instant, PageOf, PageRequest, PresentedToken, TokenFilter, TokenRecord } from './ports.ts';

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

/** The part of the store that reads all tokens of a tenant, for searches without an index. */
export interface TokenScan {
  /**
   * Reads the `limit` tokens of the tenant behind `after`, in the order of `findTokens`, and resolves to those of the
   * filter. The time of a slice depends neither on its place nor on the filter.
   */
  scanTokens(
    filter: TokenFilter,
    slice: { readonly after: ScanPosition | undefined; readonly limit: number },
    now: Instant,
  ): Promise<ScanSlice>;
}

/** Synchronous reads of one snapshot of a store. */
export interface SnapshotReads {
  /** As `Store.authorityVersion` resolves to. */
  readonly authorityVersion: string;
  findPresentedToken(tenantId: string, id: string, now: Instant): PresentedToken | undefined;
  findTokens(filter: TokenFilter, page: PageRequest, now: Instant): PageOf<PresentedToken>;
}
