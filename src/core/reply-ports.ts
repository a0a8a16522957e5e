import type { Instant } from './ports.ts';

/**
 * The stored reply to a change with an idempotency key. The hashes are keyed; `sealed` is bound to all other members.
 */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  /** The keyed hash of the tenant, the application and the idempotency key. */
  readonly key_hash: Uint8Array;
  /** The keyed hash of the whole request. */
  readonly request_hash: Uint8Array;
  readonly created_at: Instant;
  /** Empty after a record in the reply was removed; the idempotency key then stays used. */
  readonly sealed: Uint8Array;
}

/** The part of a keyring for stored replies. Its keys outlive the master key. */
export interface ReplyKeys {
  /** Returns a keyed hash of 32 bytes over these fields, to find and compare stored replies. */
  replyHash(...fields: readonly string[]): Uint8Array;
  /** Seals the text of a stored reply, bound to its other members. */
  sealReply(reply: Omit<StoredReply, 'sealed'>, text: string): Uint8Array;
  /**
   * Returns the text of a stored reply. Throws the problem `integrity_failure` when any member differs from those that
   * were sealed.
   */
  openReply(reply: StoredReply): string;
}

/** The part of a store that finds stored replies. Replies are written with the audit draft of their change. */
export interface ReplyStore {
  /** Resolves to the reply stored under the idempotency key, if it is at most 24 hours old. */
  findReply(
    tenantId: string,
    applicationId: string,
    keyHash: Uint8Array,
    now: Instant,
  ): Promise<StoredReply | undefined>;
}
