import type { AuditEntry } from '../core/audit/ports.ts';
import type { Instant, Keyring } from '../core/ports.ts';
import { type KeyHeader, openCarriedKeys } from './carried-keys.ts';
import { ENVELOPE_OVERHEAD, envelopeKeyId, openText, sealText } from './envelope.ts';
import { encodeFields, type Field, FieldEncoder, withFields } from './field-encoder.ts';
import type { VaultIdentity } from './header-mac.ts';
import type { Sodium } from './sodium.ts';
import { deriveFromMaster } from './sub-keys.ts';
import { Lock, tenantKeyBytes, tenantKeyring, tenantKeyWrapper } from './tenant-keyring.ts';

const API_KEY_HASH_BYTES = 32;
const ANCHOR_MAC_BYTES = 32;
const TOMBSTONE_MAC_BYTES = 16;
const AUDIT_SUBJECT_BYTES = 16;
const REPLY_HASH_BYTES = 32;
const RECORD_HASH_BYTES = 16;

/** The key id in the envelopes of audit entries. Their key never changes in the life of a vault. */
const AUDIT_KEY_ID = 1;

/** The key id in the envelope of the audit's base, under the same key. */
const BASE_KEY_ID = 2;

/** The key id in the envelopes of cursors, under the same key. No cursor is stored. */
const CURSOR_KEY_ID = 3;

/**
 * Returns a function that creates the context of an audit entry. The context contains no generation of the master key,
 * because a new master key does not reseal entries.
 */
function auditContexts({ format, vault_id }: VaultIdentity): (at: Instant) => Uint8Array {
  const encoder = new FieldEncoder(encodeFields('token-vault audit event', format, vault_id, AUDIT_KEY_ID));
  return (at) => encoder.encode(at);
}

function wipe(keys: readonly Uint8Array[]): void {
  for (const key of keys) key.fill(0);
}

/** Resolves to a later master key, which the receiver wipes; to undefined if the vault still has the same one. */
type FindNext = () => Promise<{ readonly vault: VaultIdentity; readonly master: Uint8Array } | undefined>;

/**
 * Returns the keyring of a master key. Derives all keys from it at once, so the caller can wipe the master key. A later
 * one, which `refresh` takes from `findNext`, replaces only the wrapping of the tenants' keys.
 */
export function openKeyring(sodium: Sodium, vault: KeyHeader, master: Uint8Array, findNext?: FindNext): Keyring {
  const carried = openCarriedKeys(sodium, master, vault);
  let wrappingKey = deriveFromMaster(sodium, master, 'tenant_key_wrapping');
  let tenantKeys = tenantKeyWrapper(sodium, wrappingKey, vault);
  let refreshing: Promise<void> | undefined;
  const lock = new Lock();
  const auditContext = auditContexts(vault);
  const subjects = new FieldEncoder(encodeFields('token-vault audit subject'));
  const records = new FieldEncoder(encodeFields('token-vault record'));
  // V8 allocates the buffer of a short array on first access. A copy into one buffer is faster.
  const recordHash = new Uint8Array(RECORD_HASH_BYTES);
  const halves = new DataView(recordHash.buffer);

  // Wipes every opened tenant's keys when the vault is locked, or when they become unreachable. The registry watches
  // the object that the tenant's functions share. It does not watch their keyring, because a caller may have extracted
  // the functions.
  const opened = new Set<readonly Uint8Array[]>();
  const forgotten = new FinalizationRegistry<readonly Uint8Array[]>((bytes) => {
    wipe(bytes);
    opened.delete(bytes);
  });

  function hashed(length: number, key: Uint8Array, fields: readonly Field[]): Uint8Array {
    lock.requireUnlocked();
    return withFields(fields, (message) => sodium.crypto_generichash(length, message, key));
  }

  function baseContext({ sequence, at, link }: Omit<AuditEntry, 'sealed'>): Uint8Array {
    const { format, vault_id } = vault;
    return encodeFields('token-vault audit base', format, vault_id, BASE_KEY_ID, sequence, at, link);
  }

  function cursorContext(tenantId: string): Uint8Array {
    return encodeFields('token-vault cursor', vault.format, vault.vault_id, CURSOR_KEY_ID, tenantId);
  }

  async function takeNext(): Promise<void> {
    const next = await findNext?.();
    if (next === undefined) return;
    try {
      lock.requireUnlocked();
      wrappingKey.fill(0);
      wrappingKey = deriveFromMaster(sodium, next.master, 'tenant_key_wrapping');
      tenantKeys = tenantKeyWrapper(sodium, wrappingKey, next.vault);
    } finally {
      next.master.fill(0);
    }
  }

  return {
    apiKeyHash: (apiKey) => hashed(API_KEY_HASH_BYTES, carried.api_key_hash, [apiKey]),

    createTenantKey(tenantId, purpose, keys, now) {
      lock.requireUnlocked();
      const key_id = Math.max(0, ...keys.map((key) => key.key_id)) + 1;
      return tenantKeys.create(tenantId, { key_id, purpose, created_at: now });
    },

    openTenant(tenantId, wrapped) {
      lock.requireUnlocked();
      const keys = tenantKeys.open(tenantId, wrapped);
      const bytes = tenantKeyBytes(keys);
      opened.add(bytes);
      forgotten.register(keys, bytes);
      return tenantKeyring(sodium, vault, tenantId, keys, lock);
    },

    anchorMac: (text) => hashed(ANCHOR_MAC_BYTES, carried.anchor, [text]),

    sealAuditEvent(at, text) {
      lock.requireUnlocked();
      return sealText(sodium, carried.audit_sealing, AUDIT_KEY_ID, auditContext(at), text);
    },

    openAuditEvent(at, sealed) {
      lock.requireUnlocked();
      return openText(sodium, carried.audit_sealing, AUDIT_KEY_ID, auditContext(at), sealed);
    },

    sealAuditBase(row, text) {
      lock.requireUnlocked();
      return sealText(sodium, carried.audit_sealing, BASE_KEY_ID, baseContext(row), text);
    },

    openAuditBase({ sealed, ...row }) {
      lock.requireUnlocked();
      return openText(sodium, carried.audit_sealing, BASE_KEY_ID, baseContext(row), sealed);
    },

    sealCursor(tenantId, text) {
      lock.requireUnlocked();
      return sealText(sodium, carried.audit_sealing, CURSOR_KEY_ID, cursorContext(tenantId), text);
    },

    openCursor(tenantId, sealed) {
      lock.requireUnlocked();
      return openText(sodium, carried.audit_sealing, CURSOR_KEY_ID, cursorContext(tenantId), sealed);
    },

    // `envelopeKeyId` throws for shorter bytes.
    isAuditBase: (sealed) => sealed.length > ENVELOPE_OVERHEAD && envelopeKeyId(sealed) === BASE_KEY_ID,

    recordHash({ table, tenant_id, id, revision }) {
      lock.requireUnlocked();
      // One field is encoded faster than four. No id contains a line end.
      const message = records.encode(`${table}\n${tenant_id}\n${id}\n${revision}`);
      const hash = sodium.crypto_generichash(RECORD_HASH_BYTES, message, carried.record_digest);
      recordHash.set(hash);
      return (halves.getBigUint64(0) << 64n) | halves.getBigUint64(8);
    },

    auditSubject({ kind, tenant_id, id }) {
      lock.requireUnlocked();
      // One field is encoded faster than three. No id contains a line end.
      const message = subjects.encode(`${kind}\n${tenant_id}\n${id}`);
      return sodium.crypto_generichash(AUDIT_SUBJECT_BYTES, message, carried.audit_index);
    },

    tombstoneMac({ tenant_id, id, type, created_by, created_at, deleted_by, deleted_at }) {
      const fields = [tenant_id, id, type, created_by, created_at, deleted_by, deleted_at];
      return hashed(TOMBSTONE_MAC_BYTES, carried.tombstone, fields);
    },

    // The first field distinguishes these hashes from those of audit subjects, which use the same key.
    replyHash: (...fields) => hashed(REPLY_HASH_BYTES, carried.audit_index, ['token-vault reply hash', ...fields]),

    async refresh() {
      lock.requireUnlocked();
      refreshing ??= takeNext().finally(() => {
        refreshing = undefined;
      });
      await refreshing;
    },

    close() {
      lock.locked = true;
      wipe([...Object.values(carried), wrappingKey]);
      for (const bytes of opened) wipe(bytes);
      opened.clear();
    },
  };
}
