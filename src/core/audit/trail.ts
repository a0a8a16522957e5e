import type { Call } from '../../contract/call.ts';
import { OPERATIONS, type Operation } from '../../contract/operations.ts';
import type { Printable } from '../json/stringify.ts';
import type { ApplicationRecord } from '../ports.ts';
import { Problem } from '../problem.ts';
import { mayBeId } from '../tokens/token-id.ts';
import type { Audit, AuditedChange } from './audit.ts';
import type { AuditEvent } from './audit-event.ts';
import { isAudited, isDenied, type ReadKind } from './audit-level.ts';
import type { AuditDraft } from './ports.ts';

/** The reply of a change. */
export interface ChangeResult {
  /** Stored with the change if the call has an idempotency key. */
  readonly shown: Printable;
  /** Whether it contains plaintext. */
  readonly revealed?: boolean;
  /** The ids of tokens in the reply besides those that were changed. */
  readonly besides?: readonly string[];
}

/** The audit of one call: the handler reports the records, and the dispatcher reports the end. */
export interface Trail {
  /** Returns the row of a change, for the store. `revision` is the record's after the change. */
  changed(entities: readonly string[], revision?: number, result?: ChangeResult): AuditDraft;
  /** Returns the row of a change that is written together with others: `Audit.draftAll`. */
  change(entities: readonly string[], revision?: number): AuditedChange;
  /** Reports the ids of unchanged records in the reply; `revealed` when it contains plaintext. */
  shown(entities: readonly string[], revealed: boolean): void;
  /**
   * Reports success. Records the presented data as the audit's level requires; returns undefined when nothing is
   * recorded. Throws the store's problems.
   */
  finish(): Promise<void> | undefined;
  /** Reports a problem as the result of the call. */
  refuse(error: unknown): Promise<void> | undefined;
}

export function createTrail(
  audit: Audit,
  call: Call,
  { id, tenant_id }: Pick<ApplicationRecord, 'id' | 'tenant_id'>,
): Trail {
  const { operation, peer } = call;
  const { status, audit: facts }: Operation = OPERATIONS[operation];
  // Name each member: V8 takes microseconds to add one to a spread object.
  const event = (status: number, entities: readonly string[], revision?: number, revealed?: boolean): AuditEvent => ({
    action: operation,
    status,
    revision,
    application_id: id,
    tenant_id,
    peer,
    entities,
    revealed: revealed || undefined,
  });
  const isWritten = (kind: ReadKind) => isAudited(audit.level, kind) && !(facts.denialsOnly && kind !== 'denied');
  /** The ids in the path. */
  const named = () => Object.values(call.params).filter(mayBeId);
  let seen: { readonly entities: readonly string[]; readonly revealed: boolean } | undefined;

  return {
    changed: (entities, revision, result) =>
      audit.draft(event(status, entities, revision, result?.revealed), tenant_id),
    change: (entities, revision) => ({ event: event(status, entities, revision), tenant_id }),

    shown(entities, revealed) {
      seen = { entities, revealed };
    },

    finish() {
      // A change has already written its entry. A call without a change reports the presented data.
      if (facts.effect !== 'none' && !seen) return undefined;
      if (!isWritten(seen?.revealed ? 'revealed' : 'other')) return undefined;
      return audit.record(event(status, seen?.entities ?? named(), undefined, seen?.revealed));
    },

    refuse(error) {
      if (!(error instanceof Problem) || error.status >= 500) return undefined;
      if (!isWritten(isDenied(error.status) ? 'denied' : 'other')) return undefined;
      return audit.record(event(error.status, named()));
    },
  };
}
