import type { World } from '../handler.ts';
import type { Clock, ExpiryRecorder, Keyring } from '../ports.ts';
import { recordColumns } from '../tokens/clear-columns.ts';
import { type AuditEvent, encodeEvent } from './audit-event.ts';
import type { AuditLevel } from './audit-level.ts';
import { subjectsOf } from './audit-subjects.ts';
import { createDenialWindow } from './denial-window.ts';
import type { AuditDraft, AuditStore } from './ports.ts';

/** How much `record` takes before it is written, and how long it may wait, in milliseconds. */
const MAX_WAITING = 256;
const DELAY_MS = 50;

/** Where events go. */
export interface Audit {
  readonly level: AuditLevel;
  /** The entry that a store writes together with a change. `tenantId` is its application's; an event without one has its own. */
  draft(event: AuditEvent, tenantId?: string): AuditDraft;
  /**
   * Writes an event that changed nothing: a moment later, in one commit with others; before it resolves where the audit is
   * strict. Denials of an application beyond 100 in a minute are counted instead, and written at the end of that minute.
   * Throws the store's problems: then the caller must not be answered.
   */
  record(event: AuditEvent): Promise<void>;
  /** Writes the waiting and the counted events. Throws the store's problems, and keeps the events then. */
  flush(): Promise<void>;
}

export interface AuditParts {
  readonly store: AuditStore;
  readonly keyring: Pick<Keyring, 'sealAuditEvent' | 'auditLink' | 'auditSubject'>;
  readonly clock: Clock;
  readonly level: AuditLevel;
  /** No secret leaves before its entry is on disk. */
  readonly strict: boolean;
}

/**
 * The audit fails closed. Once entries could not be written, nothing that belongs into the audit is answered until they
 * are: each caller tries to write them, with its own, and is told of the failure.
 */
export function createAudit({ store, keyring, clock, level, strict }: AuditParts): Audit {
  let waiting: AuditDraft[] = [];
  let failed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  const denials = createDenialWindow(() => void flush().catch(() => undefined));

  function draft(event: AuditEvent, tenantId = event.tenant_id): AuditDraft {
    const at = clock.now();
    const sealed = keyring.sealAuditEvent(at, encodeEvent(event));
    const subjects = subjectsOf(event, tenantId).map((subject) => keyring.auditSubject(subject));
    return {
      at,
      sealed,
      subjects,
      link: (previous, sequence) => keyring.auditLink(previous, { sequence, at, sealed }),
    };
  }

  async function record(event: AuditEvent): Promise<void> {
    if (event.status >= 400 && !failed && denials.absorb(event, clock.now())) return;
    const own = draft(event);
    waiting.push(own);
    if (!strict && !failed && waiting.length < MAX_WAITING) {
      timer ??= setTimeout(() => void writeWaiting().catch(() => undefined), DELAY_MS).unref();
      return;
    }
    try {
      await writeWaiting();
    } catch (error) {
      // Nobody is answered, so there is nothing to tell of. What waited before it goes on waiting.
      waiting = waiting.filter((one) => one !== own);
      throw error;
    }
  }

  function flush(): Promise<void> {
    waiting.push(...denials.end().map((event) => draft(event)));
    return writeWaiting();
  }

  /** One after the other, so that entries have the order of their events. */
  function writeWaiting(): Promise<void> {
    const written = writing.then(write);
    writing = written.catch(() => undefined);
    return written;
  }

  async function write(): Promise<void> {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const drafts = waiting;
    waiting = [];
    try {
      await store.appendAudit(drafts);
      failed = false;
    } catch (error) {
      waiting = [...drafts, ...waiting];
      failed = true;
      throw error;
    }
  }

  return { level, draft, record, flush };
}

/** What the removal of expired records leaves behind. */
export function createExpiryRecorder({ keyring, audit }: Pick<World, 'keyring' | 'audit'>): ExpiryRecorder {
  return {
    recordExpiry(record, deleted_at) {
      const { tenant_id, id, type, created_at } = record;
      const left = { tenant_id, id, type, created_by: recordColumns(record).created_by, created_at, deleted_at };
      return {
        tombstone: { ...left, mac: keyring.tombstoneMac(left) },
        audit: audit.draft({ action: 'expireToken', status: 200, tenant_id, entities: [id] }),
      };
    },
    recordRemoval: (tenant_id, removed) =>
      audit.draft({ action: 'expireApplication', status: 200, tenant_id, entities: removed }),
  };
}
