import type { Limits } from '../contract/limits.ts';
import type { Audit } from './audit/audit.ts';
import type { Clock, Keyring, Random, Store } from './ports.ts';
import type { Activity } from './tokens/activity.ts';

/** All that the core asks of the outside. */
export interface World {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: Limits;
  readonly activity: Activity;
  readonly audit: Audit;
  /** `included_monthly_active_tokens` of the usage report (decisions §8). */
  readonly includedActiveTokens: number;
  /** Told of every error that the caller is not told of; writes to this machine's stderr. */
  readonly reportError: (error: unknown, traceId: string) => void;
}
