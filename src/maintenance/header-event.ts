import type { AuditEvent } from '../core/audit/audit-event.ts';
import type { VaultHeader } from '../core/ports.ts';

/**
 * Returns the event of a change of the header: its slots and their master key. Contains its MAC and that of the header
 * `before`, so that doctor detects a restored header, and with it a removed slot.
 */
export function headerEvent(
  action: 'createVault' | 'addSlot' | 'removeSlot' | 'replaceMasterKey',
  { mac, generation }: VaultHeader,
  before?: VaultHeader,
): AuditEvent {
  const marks = [mac, ...(before ? [before.mac] : [])].map(headerMark);
  return { action, status: 200, revision: generation, entities: marks };
}

/** Returns the part of a header's MAC that the audit keeps: its first 16 bytes, base64url. */
export function headerMark(mac: Uint8Array): string {
  return Buffer.from(mac.subarray(0, 16)).toString('base64url');
}
