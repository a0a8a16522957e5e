import { type AuditEvent, changeOf } from './audit-event.ts';

/** A record, as the log index (`actor`, `entity`) or the index of stored replies names it. */
export interface AuditSubject {
  readonly kind: 'application' | 'token' | 'actor' | 'entity';
  readonly tenant_id: string;
  readonly id: string;
}

/** Returns the records that a reply to an event shows, or that the event removed. */
export function subjectsOf(event: AuditEvent, tenant_id: string | undefined): readonly AuditSubject[] {
  const [kind] = changeOf(event) ?? [];
  if (tenant_id === undefined || (kind !== 'application' && kind !== 'token')) return [];
  return event.entities.map((id) => ({ kind, tenant_id, id }));
}
