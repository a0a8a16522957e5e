import { OPERATIONS, type Operation, type ResultOf } from '../../contract/operations.ts';
import { formatInstant } from '../time.ts';
import { type AuditEvent, changeOf, SUMMARIES } from './audit-event.ts';
import { isDenied } from './audit-level.ts';
import type { AuditSubject } from './ports.ts';
import type { PositionedEvent } from './walk-audit.ts';

export type LogEntry = ResultOf<'listLogs'>['data'][number];

/** An entry for the holder of the vault's key. An entry about the whole vault names no tenant. */
export type VaultLogEntry = Omit<LogEntry, 'tenant_id'> & Partial<Pick<LogEntry, 'tenant_id'>>;

type EntityType = LogEntry['entity_type'];

/** The entity types by the resource of a permission, the part before the colon. */
const ENTITY_TYPES: Readonly<Record<string, EntityType>> = { token: 'token', application: 'application' };

/** Returns whether an event is the part of a change of applications that names their keys. No log shows it. */
function isPart({ action }: AuditEvent): boolean {
  return action === 'addApplicationKey' || action === 'endApplicationKeys';
}

function entityTypeOf({ action, status, tenant_id }: AuditEvent): EntityType {
  if (tenant_id === undefined) return 'vault';
  const [changed = ''] = changeOf({ action, status, revision: 1, entities: [] }) ?? [];
  if (changed === 'application_key') return changed;
  if (Object.hasOwn(OPERATIONS, action)) {
    const { permission, audit }: Operation = OPERATIONS[action as keyof typeof OPERATIONS];
    // The entry of a failed call about API keys has the id of their application.
    if (audit.entity === 'token' || (audit.entity !== undefined && status < 400)) return audit.entity;
    return permission === undefined ? 'vault' : (ENTITY_TYPES[permission.replace(/:.*/, '')] ?? 'tenant');
  }
  return ENTITY_TYPES[changed] ?? 'tenant';
}

function entitiesOf({ entities, tenant_id }: AuditEvent, type: EntityType): readonly string[] {
  if (tenant_id === undefined) return [];
  return type === 'tenant' ? [tenant_id] : entities;
}

/** Returns the subjects of an event for the log index: the caller and the entities. */
export function logSubjectsOf(event: AuditEvent): readonly AuditSubject[] {
  const { tenant_id, application_id } = event;
  if (tenant_id === undefined || isPart(event)) return [];
  return [
    ...(application_id === undefined ? [] : [{ kind: 'actor' as const, tenant_id, id: application_id }]),
    ...entitiesOf(event, entityTypeOf(event)).map((id) => ({ kind: 'entity' as const, tenant_id, id })),
  ];
}

/** Returns the log entries of an event for the holder of the vault's key. */
export function vaultLogEntriesOf(positioned: PositionedEvent): readonly VaultLogEntry[] {
  const { tenant_id } = positioned.event;
  return logEntriesOf(positioned, tenant_id === undefined ? {} : { tenant_id });
}

/**
 * Returns the log entries of an event for a tenant, one for each entity, in order. No tenant sees an event of the whole
 * vault, because such an event may concern other tenants.
 */
export function logEntriesOf<Tenant extends Pick<VaultLogEntry, 'tenant_id'>>(
  { event, at, sequence, n }: PositionedEvent,
  tenant: Tenant,
): readonly (Omit<LogEntry, 'tenant_id'> & Tenant)[] {
  if (event.tenant_id !== tenant.tenant_id || isPart(event)) return [];
  const { action: operation, status, application_id, actor_name, api_key_id, revealed = false } = event;
  const entity_type = entityTypeOf(event);
  const message = messageOf(event);
  const entities: readonly (string | undefined)[] = entitiesOf(event, entity_type);
  return (entities.length === 0 ? [undefined] : entities).map((entity_id, index) => ({
    id: `${sequence}.${n}${entities.length > 1 ? `.${index + 1}` : ''}`,
    ...tenant,
    ...(application_id !== undefined && { actor_id: application_id }),
    ...(actor_name !== undefined && { actor_name }),
    actor_type: application_id === undefined ? 'vault' : 'application',
    ...(api_key_id !== undefined && { actor_key_id: api_key_id }),
    ...(event.names?.[index] && { entity_name: event.names[index] }),
    entity_type,
    ...(entity_id !== undefined && { entity_id }),
    operation,
    message,
    status,
    revealed,
    created_at: formatInstant(at),
  }));
}

function messageOf({ action, status, counted }: AuditEvent): string {
  const { summary } = SUMMARIES[action];
  if (status < 400) return `${summary}.`;
  const times = counted === undefined ? '' : ` ${counted.count} time${counted.count === 1 ? '' : 's'}`;
  const outcome = isDenied(status) ? `Denied${times}` : `Failed with status ${status}`;
  return `${outcome}: ${summary.slice(0, 1).toLowerCase()}${summary.slice(1)}.`;
}
