import { channel } from 'node:diagnostics_channel';

/**
 * Publishes an array after each group commit: how long each write waited for the commit to begin, in milliseconds.
 * Stores measure nothing while the channel has no subscriber.
 */
export const COMMITS = channel('token-vault:commits');

/** Publishes a message before each retry of an attempt that found the store locked or busy. */
export const RETRIES = channel('token-vault:retries');
