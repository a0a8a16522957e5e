import type { Call } from '../../contract/call.ts';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import { PROBLEMS } from '../../contract/problems.ts';
import type { EndedApplications } from '../application-ports.ts';
import type { Identity } from '../handler.ts';
import { Problem } from '../problem.ts';
import type { ReplyContents } from '../reply-codec.ts';
import { mayBeId } from '../tokens/token-id.ts';
import type { Audit } from './audit.ts';
import { type AuditEvent, changeOf, namesOf } from './audit-event.ts';
import { isDenied, RECORDED_READS, type ReadKind } from './audit-level.ts';
import type { EndedRecord } from './ports.ts';

const { status: DENIED } = PROBLEMS.no_governing_rule;

/** The reply of a change. It is stored with the change if the call has an idempotency key. */
export interface ChangeResult extends Partial<Omit<ReplyContents, 'status'>> {
  /** Whether the reply contains plaintext. */
  readonly revealed?: boolean;
  /** The names of the changed applications, or of those of the changed API keys. */
  readonly names?: readonly string[];
}

/** The audit of one call. The handler reports the records, and the dispatcher reports the outcome. */
export type AuditRecorder = ReturnType<typeof createAuditRecorder>;

export function createAuditRecorder(
  audit: Audit,
  call: Call,
  { application, key }: Pick<Identity, 'application' | 'key'>,
) {
  const { id, tenant_id } = application.record;
  const { name } = application.details;
  const { operation, peer } = call;
  const { status, audit: facts }: Operation = OPERATIONS[operation];
  // Name each member, because V8 takes microseconds to add a member to a spread object.
  const event = (status: number, entities: readonly string[], revision?: number, revealed?: boolean): AuditEvent => ({
    action: operation,
    status,
    revision,
    application_id: id,
    actor_name: name,
    api_key_id: key.id,
    tenant_id,
    peer,
    entities,
    revealed: revealed || undefined,
  });
  const isWritten = (kind: ReadKind) =>
    RECORDED_READS[audit.level].includes(kind) && !(facts.denialsOnly && kind !== 'denied');
  /** Returns the id in the path of the call; that of the application for a call about its keys. */
  const named = () => Object.values({ ...call.params, key_id: '' }).filter((one) => one !== '' && mayBeId(one));
  // A call without a change has reported the records that it shows.
  const hasChanged = () => facts.effect !== 'none' && !seen;
  let seen:
    | (Pick<AuditEvent, 'entities' | 'names'> & { readonly revealed: boolean; readonly isHidden?: true })
    | undefined;

  return {
    /**
     * Returns the audit row of a change of tokens, for the store. `revision` is that of the record after the change. The
     * reply shows `entities`, unless `result` names other ids.
     */
    changed: (entities: readonly string[], revision?: number, result?: ChangeResult) =>
      audit.draft(event(status, entities, revision, result?.revealed)),

    /** Returns the audit row of a removal of tokens. */
    removed: (records: readonly EndedRecord[]) => audit.draft({ ...event(status, []), ...namesOf(records) }),

    /** Returns the audit row of a change of the tenant, of an application or of its API keys. */
    changedAuthority(entities: readonly string[], revision?: number, { names, issued }: ChangeResult = {}) {
      const own = { ...event(status, entities, revision), names };
      if (issued === undefined || entities.includes(issued.id)) return audit.draftAuthority(own);
      // The change of the application made a key.
      return audit.draftAuthority(own, { ...event(status, [issued.id], 1), action: 'addApplicationKey', names });
    },

    /** Returns the audit row of removed applications and API keys. `name` is that of the first one. */
    ended: (ended: EndedApplications, name?: string) =>
      audit.draftAuthority(...removalEvents(event(status, []), ended, name)),

    /** Returns the event of a change that is written together with other changes. */
    change: (entities: readonly string[], revision?: number) => event(status, entities, revision),

    /**
     * Reports the ids of unchanged records in the reply. `revealed` is true when the reply contains plaintext. `names` are
     * the names of the shown applications, or of the applications of the shown API keys.
     */
    shown(entities: readonly string[], revealed: boolean, names?: readonly string[]): void {
      seen = { entities, revealed, names };
    },

    /** Reports the id of a record that the caller may not read. The audit records a denial, though the call succeeds. */
    hidden(id: string): void {
      seen = { entities: [id].filter(mayBeId), revealed: false, isHidden: true };
    },

    /** Returns whether a successful call has changed something. */
    hasChanged,

    /**
     * Reports success. Records the read if the audit's level requires it; returns undefined when nothing is recorded.
     * Rejects with the store's problems.
     */
    finish(): Promise<void> | undefined {
      // A change has already written its entry.
      if (hasChanged()) return undefined;
      const { entities = named(), names, revealed, isHidden } = seen ?? {};
      if (!isWritten(isHidden ? 'denied' : revealed ? 'revealed' : 'other')) return undefined;
      const read = event(isHidden ? DENIED : status, entities, undefined, revealed);
      return audit.record(names === undefined ? read : { ...read, names });
    },

    /**
     * Reports a problem as the result of the call. Records a denial if the audit's level requires it; returns undefined
     * when nothing is recorded. Rejects with the store's problems.
     */
    refuse(error: unknown): Promise<void> | undefined {
      if (!(error instanceof Problem) || error.status >= 500) return undefined;
      if (!isWritten(isDenied(error.status) ? 'denied' : 'other')) return undefined;
      return audit.record(event(error.status, named()));
    },
  };
}

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
