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
  /** With an idempotency key it is stored with the change. */
  readonly shown: Printable;
  /** Whether it shows plaintext. */
  readonly revealed?: boolean;
  /** The ids of tokens that it shows beside those that were changed. */
  readonly besides?: readonly string[];
}

/** The audit's part of one call: its handler reports touched records, the one path reports the end. */
export interface Trail {
  /** The row of a change, for the store. `revision` is the record's after it. */
  changed(entities: readonly string[], revision?: number, result?: ChangeResult): AuditDraft;
  /** The same for a change that is written together with others: `Audit.draftAll`. */
  change(entities: readonly string[], revision?: number): AuditedChange;
  /** The ids of what the reply shows of records that it leaves as they were; `revealed` when it shows plaintext. */
  shown(entities: readonly string[], revealed: boolean): void;
  /**
   * The call succeeded. Records what was shown, as the audit's level requires; returns undefined when nothing is
   * recorded. Throws the store's problems.
   */
  finish(): Promise<void> | undefined;
  /** The call ended with a problem. */
  refuse(error: unknown): Promise<void> | undefined;
}

export function createTrail(
  audit: Audit,
  call: Call,
  { id, tenant_id }: Pick<ApplicationRecord, 'id' | 'tenant_id'>,
): Trail {
  const { operation, peer } = call;
  const { status, method, audit: facts }: Operation = OPERATIONS[operation];
  // Each member by its name: V8 takes microseconds to add one to what it has spread.
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
  /** The ids that the path named. */
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
      // A change has written its entry; only a change that changed nothing reports what it showed.
      if (method !== 'GET' && !seen) return undefined;
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
