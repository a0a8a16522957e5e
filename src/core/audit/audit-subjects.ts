import { type AuditEvent, changeOf } from './audit-event.ts';

/**
 * A record that an audit entry changed, as the audit's index names it. An empty `id` means all records of the kind.
 * Reads and denials are not in this index, because an index row would make a revealing read a sixth slower. The log
 * index adds them later, as the kinds `actor` and `entity`.
 */
export interface AuditSubject {
  readonly kind: 'tenant' | 'application' | 'token' | 'actor' | 'entity' | 'prune';
  readonly tenant_id: string;
  readonly id: string;
}

/** The subject of the last entry of a prune. */
export const PRUNE_DONE: AuditSubject = { kind: 'prune', tenant_id: '', id: 'done' };

/**
 * Returns the records that an event changed. `tenant_id` is the tenant of the event or, for an operation, of its
 * application.
 */
export function subjectsOf(event: AuditEvent, tenant_id: string | undefined): readonly AuditSubject[] {
  const { action, entities } = event;
  if (action === 'pruneAudit') return [PRUNE_DONE];
  if (tenant_id === undefined) return [];
  if (action === 'resetTokens') return [allOf('token', tenant_id)];
  const [kind] = changeOf(event) ?? [];
  if (kind === 'tenant') return [allOf('tenant', tenant_id)];
  if (kind !== 'application' && kind !== 'token') return [];
  const named = entities.map((id) => ({ kind, tenant_id, id }));
  return action === 'createTenant' ? [...named, allOf('tenant', tenant_id)] : named;
}

function allOf(kind: AuditSubject['kind'], tenant_id: string): AuditSubject {
  return { kind, tenant_id, id: '' };
}
