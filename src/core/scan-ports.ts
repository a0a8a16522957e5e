import type { Instant, PresentedToken, TokenFilter, TokenRecord } from './ports.ts';

/** What a scan reads of a token: all but the value that holds the data. */
export type ScannedToken = Omit<PresentedToken, 'full'>;

/** Where a scan goes on: behind this token in the order of lists. */
export type ScanPosition = Pick<TokenRecord, 'created_at' | 'id'>;

/** A part of a scan. */
export interface ScanSlice {
  readonly records: readonly ScannedToken[];
  /** Absent at the end. */
  readonly next?: ScanPosition | undefined;
}

/** The part of the store that looks at all tokens of a tenant, for what no index can look for. */
export interface TokenScan {
  /**
   * Looks at the `limit` tokens of the tenant behind `after`, in the order of `findTokens`, and resolves to those of the
   * filter. A slice takes as long wherever it is, and whatever the filter matches.
   */
  scanTokens(
    filter: TokenFilter,
    slice: { readonly after: ScanPosition | undefined; readonly limit: number },
    now: Instant,
  ): Promise<ScanSlice>;
}
