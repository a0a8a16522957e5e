import type { EndedApplications } from '../application-ports.ts';
import { type AuditEvent, changeOf, namesOf } from './audit-event.ts';

/**
 * Returns the events of a change that removed applications or API keys, the change itself first. `base` is its event
 * without entities; events of their own name the records that ended with it.
 */
export function removalEvents(base: AuditEvent, ended: EndedApplications, name = ''): readonly AuditEvent[] {
  const [removed] = changeOf(base) ?? [];
  const applications: AuditEvent = {
    ...base,
    ...namesOf(ended.applications),
    ...(removed === 'application' ? named(ended.applications, name) : { action: 'endApplications' }),
  };
  const keys: AuditEvent = {
    ...base,
    ...namesOf(ended.keys),
    ...(removed === 'application_key' ? named(ended.keys, name) : { action: 'endApplicationKeys' }),
  };
  const events = removed === 'application_key' ? [keys, applications] : [applications, keys];
  return events.filter(({ entities }) => entities.length > 0);
}

/** Returns the member with the name of the first record. Those of the others are unknown. */
function named({ length }: readonly unknown[], name: string): Pick<AuditEvent, 'names'> {
  return name === '' ? {} : { names: Array.from({ length }, (_, at) => (at === 0 ? name : '')) };
}
