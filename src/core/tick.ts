import type { AuditEvent } from './audit/audit-event.ts';
import type { Context, Identity } from './handler.ts';
import type { NewToken } from './insert-ports.ts';
import type { Store } from './ports.ts';
import type { SnapshotReads } from './scan-ports.ts';

/** A tick of the event loop in which several calls are answered from one snapshot. */
export interface Tick {
  /** Reads the snapshot. Returns a promise of the store when the snapshot cannot answer. */
  readonly reads: TokenReads;
  /** The cached identities that were found in this tick, by API key. */
  readonly known: Map<string, Identity>;
  /**
   * Inserts a token together with the others of the tick. Resolves to false when none of them was inserted and each must
   * be inserted alone.
   */
  insert(token: NewToken, change: AuditEvent): Promise<boolean>;
}

/** Holds the tick whose calls run now. A call leaves its tick at its first promise. */
export interface TickHolder {
  now: Tick | undefined;
}

type TokenReadName = 'findPresentedToken' | 'findTokens';

/** The reads of tokens that a snapshot and a store have in common. */
export type TokenReads = {
  readonly [Name in TokenReadName]: (
    ...args: Parameters<Store[Name]>
  ) => ReturnType<SnapshotReads[Name]> | ReturnType<Store[Name]>;
};

/** Returns the reads of the tick, or those of the store outside of one. */
export function readsOf({ ticks, store }: Pick<Context, 'ticks' | 'store'>): TokenReads {
  return ticks.now?.reads ?? store;
}

/**
 * Returns the reads of a snapshot. When a read fails, `store` repeats it: the store can wait for a lock and reports the
 * problem.
 */
export function snapshotReads(reads: SnapshotReads, store: TokenReads): TokenReads {
  return {
    findPresentedToken(...args) {
      try {
        return reads.findPresentedToken(...args);
      } catch {
        return store.findPresentedToken(...args);
      }
    },
    findTokens(...args) {
      try {
        return reads.findTokens(...args);
      } catch {
        return store.findTokens(...args);
      }
    },
  };
}
