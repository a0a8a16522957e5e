import { channel } from 'node:diagnostics_channel';

/**
 * Carries, after each commit of a group of writes, how long each write waited for the commit to begin: an array of
 * milliseconds. Stores measure nothing while the channel has no subscriber.
 */
export const COMMITS = channel('token-vault:commits');

/** Carries a message before each repetition of an attempt that found the store locked or busy. */
export const RETRIES = channel('token-vault:retries');
