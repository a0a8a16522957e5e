import type { Instant } from './ports.ts';

/**
 * The stored reply to a change with an idempotency key. The hashes are keyed; `sealed` is bound to all other members.
 */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  /** The keyed hash of the key, in the application. */
  readonly key_hash: Uint8Array;
  /** The keyed hash of the whole request. */
  readonly request_hash: Uint8Array;
  readonly created_at: Instant;
  /** Empty once a record in the reply was removed; the key stays taken. */
  readonly sealed: Uint8Array;
}

/** The part of a keyring for stored replies. Its keys outlive the master key. */
export interface ReplyKeys {
  /** Returns a keyed hash of 32 bytes over these fields, to find and compare stored replies. */
  replyHash(...fields: readonly string[]): Uint8Array;
  /** Seals the text of a stored reply, bound to its other members. */
  sealReply(reply: Omit<StoredReply, 'sealed'>, text: string): Uint8Array;
  /** Throws the problem `integrity_failure` when anything differs from what was sealed. */
  openReply(reply: StoredReply): string;
}

/** The part of a store that finds stored replies. Audit drafts add them. */
export interface ReplyStore {
  /** Returns the reply stored under the key, if it is at most 24 hours old. */
  findReply(
    tenantId: string,
    applicationId: string,
    keyHash: Uint8Array,
    now: Instant,
  ): Promise<StoredReply | undefined>;
}
