import type { Instant } from './ports.ts';

/** The time of a vault. */
export interface Clock {
  /**
   * Returns the time. It dates records and checks new ends. It goes back only as `systemClock` describes, or when a
   * test moves the clock back, which first removes expired records.
   */
  now(): Instant;
  /**
   * Returns the time up to which expired records are hidden: `now()`, or the machine's clock if that has jumped ahead.
   * Pass it to the reads of a store.
   */
  cutoff(): Instant;
  /** Returns the latest time that is certain; 0 before the first one. Records that expired by then may be removed. */
  settled(): Instant;
}
