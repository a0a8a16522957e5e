import type { SealContext, TenantKeyring } from './ports.ts';
import type { StoredReply } from './reply-ports.ts';

/**
 * What is kept of a reply: enough to answer a retry from the records as they are then. It contains no plaintext of
 * tokens. An API key is in it because the vault keeps only its hash elsewhere.
 */
export interface ReplyContents {
  readonly status: number;
  /** The ids of the records in the reply, in order. */
  readonly ids: readonly string[];
  /**
   * The tokens that the call found instead of creating them: their revisions, by the position in `ids`. A caller that
   * cannot read such a token must not learn its fingerprint after a change.
   */
  readonly found?: Readonly<Record<string, number>> | undefined;
  /** True for the shorter reply to a caller that cannot read the duplicate of its token. */
  readonly shortened?: true | undefined;
  /** The API key in the reply: its text, its id, and the revision of the changed record. */
  readonly issued?: { readonly key: string; readonly id: string; readonly revision: number } | undefined;
}

type UnsealedReply = Omit<StoredReply, 'key_id' | 'sealed'>;

/** Seals a reply under the tenant's newest data key. */
export function sealReply(keyring: TenantKeyring, unsealed: UnsealedReply, contents: ReplyContents): StoredReply {
  const { tenant_id, application_id, key_hash, request_hash, created_at } = unsealed;
  const clear = { tenant_id, application_id, key_hash, request_hash, created_at, key_id: keyring.keyIds.key_id };
  return { ...clear, sealed: keyring.seal(contextOf(clear), JSON.stringify(contents)) };
}

/** Opens a stored reply. Throws `integrity_failure` when any member differs from those that were sealed. */
export function openReply(keyring: TenantKeyring, reply: StoredReply): ReplyContents {
  // The cast is safe: opening proves that the text is the one that sealReply sealed.
  return JSON.parse(keyring.open(contextOf(reply), reply.sealed)) as ReplyContents;
}

/** Returns a reply under the tenant's newest data key, with the same contents. Throws `integrity_failure`. */
export function resealReply(keyring: TenantKeyring, reply: StoredReply): StoredReply {
  return sealReply(keyring, reply, openReply(keyring, reply));
}

function contextOf(reply: Omit<StoredReply, 'sealed'>): SealContext {
  const { application_id, key_hash, request_hash, created_at, key_id } = reply;
  const clear = [key_hash, request_hash, created_at, key_id];
  // A reply is never changed, so it has one revision.
  return { table: 'reply', id: application_id, column: 'sealed', revision: 1, clear };
}
