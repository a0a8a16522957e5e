import type { AuditEvent } from '../../core/audit/audit-event.ts';
import { headerMark } from '../../core/audit/record-digest.ts';
import type { VaultHeader } from '../../core/ports.ts';

/**
 * Returns the audit event for a change of the header, which holds the slots and the master key. The event contains the
 * MACs of the new header and of `before`, so that `vault doctor` detects a restored header.
 */
export function headerEvent(
  action: 'createVault' | 'addSlot' | 'removeSlot' | 'replaceMasterKey',
  { mac, generation }: VaultHeader,
  before?: VaultHeader,
): AuditEvent {
  const marks = [mac, ...(before ? [before.mac] : [])].map(headerMark);
  return { action, status: 200, revision: generation, entities: marks };
}
