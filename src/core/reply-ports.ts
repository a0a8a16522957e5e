import type { Instant } from './ports.ts';

/**
 * The reply to a change that was asked for with an idempotency key. The hashes are keyed; `sealed` is bound to all others.
 */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  /** The keyed hash of the key, in the application. */
  readonly key_hash: Uint8Array;
  /** The keyed hash of the whole request. */
  readonly request_hash: Uint8Array;
  readonly created_at: Instant;
  /** Empty once a record that the reply shows was removed: the key stays taken. */
  readonly sealed: Uint8Array;
}

/** The part of a keyring that stored replies need. Its keys outlive the master key. */
export interface ReplyKeys {
  /** A keyed hash of 32 bytes over these fields, to find and compare stored replies. */
  replyHash(...fields: readonly string[]): Uint8Array;
  /** Seals the text of a stored reply, bound to the rest of it. */
  sealReply(reply: Omit<StoredReply, 'sealed'>, text: string): Uint8Array;
  /** Throws the problem `integrity_failure` when anything is not what was sealed. */
  openReply(reply: StoredReply): string;
}

/** The part of a store that finds stored replies. Drafts of the audit bring them. */
export interface ReplyStore {
  /** Returns the reply that is stored under the key, at most 24 hours old. */
  findReply(
    tenantId: string,
    applicationId: string,
    keyHash: Uint8Array,
    now: Instant,
  ): Promise<StoredReply | undefined>;
}
