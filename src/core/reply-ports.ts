import type { Instant } from './ports.ts';

/**
 * What a store keeps of the reply to a change with an idempotency key. The hashes are keyed; `sealed` is bound to all
 * other members.
 */
export interface StoredReply {
  readonly tenant_id: string;
  readonly application_id: string;
  /** The keyed hash of the tenant, the application and the idempotency key. */
  readonly key_hash: Uint8Array;
  /** The keyed hash of the whole request. */
  readonly request_hash: Uint8Array;
  readonly created_at: Instant;
  /** The id of the tenant's data key that seals the reply. */
  readonly key_id: number;
  /** Sealed: the `ReplyContents`. */
  readonly sealed: Uint8Array;
}

/** A stored reply as read (`before`) and sealed under a newer data key (`after`). */
export interface ResealedReply {
  readonly before: StoredReply;
  readonly after: StoredReply;
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
