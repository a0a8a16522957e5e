import { Fault } from '../core/fault.ts';
import type { Keyring, VaultHeader } from '../core/ports.ts';
import { Problem } from '../core/problem.ts';
import type { Credential } from './credential.ts';
import { unlockKeyring } from './unlock-master-key.ts';

/**
 * Returns a keyring that keeps its credential. A served vault thus survives `vault keys rotate --master` by another
 * process: `refresh` unlocks the vault again when the header shows another generation. Opened tenants stay open, since
 * their keys do not change. In memory, the credential reveals no more than the master key does.
 */
export async function followMasterKey(
  header: VaultHeader,
  credential: Credential,
  readHeader: () => Promise<VaultHeader>,
): Promise<Keyring> {
  let current = await unlockKeyring(header, credential);
  let { generation } = header;
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
  return {
    apiKeyHash: (apiKey) => current.apiKeyHash(apiKey),
    createTenantKey: (tenantId, purpose, keys, now) => current.createTenantKey(tenantId, purpose, keys, now),
    openTenant: (tenantId, keys) => current.openTenant(tenantId, keys),
    anchorMac: (text) => current.anchorMac(text),
    sealAuditEvent: (at, text) => current.sealAuditEvent(at, text),
    openAuditEvent: (at, sealed) => current.openAuditEvent(at, sealed),
    sealAuditBase: (row, text) => current.sealAuditBase(row, text),
    openAuditBase: (row) => current.openAuditBase(row),
    sealCursor: (tenantId, text) => current.sealCursor(tenantId, text),
    openCursor: (tenantId, sealed) => current.openCursor(tenantId, sealed),
    isAuditBase: (sealed) => current.isAuditBase(sealed),
    recordHash: (record) => current.recordHash(record),
    auditSubject: (subject) => current.auditSubject(subject),
    tombstoneMac: (tombstone) => current.tombstoneMac(tombstone),
    replyHash: (...fields) => current.replyHash(...fields),
    refresh() {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
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
