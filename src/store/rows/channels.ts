import { channel } from 'node:diagnostics_channel';

/**
 * Publishes an array after each group commit: how long each write waited for the commit to begin, in milliseconds.
 * Stores measure nothing while the channel has no subscriber.
 */
export const COMMITS = channel('token-vault:commits');

/** A database that lacks the last committed rows of the audit, as after a failover that lost commits. */
export interface Loss {
  readonly missing: number;
}

/** Publishes a `Loss` when a process finds that rows are missing that it knew. */
export const LOSSES = channel('token-vault:losses');

/** Publishes a message before each retry of an attempt that found the store locked or busy. */
export const RETRIES = channel('token-vault:retries');
