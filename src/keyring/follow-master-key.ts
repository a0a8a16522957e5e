import { Fault } from '../core/fault.ts';
import type { Keyring, VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import type { Credential } from './credential.ts';
import { findSlot } from './slots.ts';
import { unlockKeyring } from './unlock-master-key.ts';

export interface FollowingKeyring extends Keyring {
  /** Rejects with `vault_locked` when the credential no longer opens the vault, as after a change by another process. */
  requireKey(): Promise<void>;
}

/**
 * Returns a keyring that keeps its credential. A served vault thus survives `vault keys rotate --master` by another
 * process: `refresh` unlocks the vault again when the header shows another generation. Opened tenants stay open, since
 * their keys do not change. In memory, the credential reveals no more than the master key does.
 */
export async function followMasterKey(
  header: VaultHeader,
  credential: Credential,
  readHeader: () => Promise<VaultHeader>,
): Promise<FollowingKeyring> {
  let current = await unlockKeyring(header, credential);
  let { generation } = header;
  let opens = { mac: header.mac, isOpened: true };
  const former: Keyring[] = [];

  async function refresh(): Promise<void> {
    const found = await readHeader();
    if (found.generation === generation) return;
    const next = await unlockAgain(found, credential);
    former.push(current);
    current = next;
    generation = found.generation;
  }

  let refreshing: Promise<void> | undefined;
  function refreshOnce(): Promise<void> {
    refreshing ??= refresh().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  return {
    apiKeyHash: (apiKey) => current.apiKeyHash(apiKey),
    createTenantKey: (tenantId, purpose, keys, now) => current.createTenantKey(tenantId, purpose, keys, now),
    openTenant: (tenantId, keys) => current.openTenant(tenantId, keys),
    anchorMac: (text) => current.anchorMac(text),
    sealAuditEvent: (at, text) => current.sealAuditEvent(at, text),
    openAuditEvent: (at, sealed) => current.openAuditEvent(at, sealed),
    sealAuditBase: (row, text) => current.sealAuditBase(row, text),
    openAuditBase: (row) => current.openAuditBase(row),
    isAuditBase: (sealed) => current.isAuditBase(sealed),
    recordHash: (record) => current.recordHash(record),
    auditSubject: (subject) => current.auditSubject(subject),
    tombstoneMac: (tombstone) => current.tombstoneMac(tombstone),
    replyHash: (...fields) => current.replyHash(...fields),
    refresh: refreshOnce,
    async requireKey() {
      const found = await readHeader();
      // Derives a key once for each header, because a passphrase is slow and anyone may call `/readyz`.
      if (Buffer.compare(found.mac, opens.mac) !== 0) {
        opens = { mac: found.mac, isOpened: (await findSlot(found, credential)) !== undefined };
      }
      if (!opens.isOpened) throw new Problem('vault_locked');
      await refreshOnce();
    },
    close() {
      for (const keyring of [...former, current]) keyring.close();
    },
  };
}

async function unlockAgain(header: VaultHeader, credential: Credential): Promise<Keyring> {
  try {
    return await unlockKeyring(header, credential);
  } catch (cause) {
    if (cause instanceof Fault && cause.code === 'wrong_credential') throw new Problem('vault_locked', { cause });
    throw cause instanceof Fault ? new Problem('integrity_failure', { cause }) : cause;
  }
}
