import type { AuditDraft } from '../../core/audit-ports.ts';
import type { InsertTokenOutcome, Instant, TokenIndexes, TokenRecord, Tombstone } from '../../core/ports.ts';
import type { Session } from './session.ts';
import { SqliteStore } from './sqlite-store.ts';
import { putDraft, putIndexes, putRecord, putTombstone } from './write-messages.ts';
import type { WriterThread } from './writer-thread.ts';

/**
 * A store whose tokens are written by another thread, and the audit with them, once they come several at a time: a commit
 * waits for the disk, and this thread would wait with it, and all who read. Until then, and for all else that is written, it is
 * the store that it extends: what is written alone is sooner written here.
 */
export class ThreadedStore extends SqliteStore {
  readonly #startThread: () => Promise<WriterThread>;
  #thread: WriterThread | undefined;
  #starting: Promise<void> | undefined;
  #underWay = 0;
  #isClosing = false;

  constructor(session: Session, startThread: () => Promise<WriterThread>) {
    super(session);
    this.#startThread = startThread;
  }

  override insertToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    options: { readonly deduplicate: boolean; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<InsertTokenOutcome> {
    if (this.#thread === undefined) return this.#here(() => super.insertToken(token, indexes, options, audit));
    return this.#thread.write('insertToken', (out) => {
      putRecord(out, token);
      putIndexes(out, indexes);
      out.put(options.deduplicate ? 1 : 0, options.now);
      putDraft(out, audit);
    });
  }

  override replaceToken(
    token: TokenRecord,
    indexes: TokenIndexes,
    expected: { readonly revision: number; readonly now: Instant },
    audit: AuditDraft,
  ): Promise<boolean> {
    if (this.#thread === undefined) return this.#here(() => super.replaceToken(token, indexes, expected, audit));
    return this.#thread.write('replaceToken', (out) => {
      putRecord(out, token);
      putIndexes(out, indexes);
      out.put(expected.revision, expected.now);
      putDraft(out, audit);
    });
  }

  override deleteToken(tombstone: Tombstone, expectedRevision: number, audit: AuditDraft): Promise<boolean> {
    if (this.#thread === undefined) return this.#here(() => super.deleteToken(tombstone, expectedRevision, audit));
    return this.#thread.write('deleteToken', (out) => {
      putTombstone(out, tombstone);
      out.put(expectedRevision);
      putDraft(out, audit);
    });
  }

  override appendAudit(drafts: readonly AuditDraft[]): Promise<void> {
    const thread = this.#busyThread();
    if (thread === undefined) return super.appendAudit(drafts);
    return thread.write('appendAudit', (out) => {
      out.put(drafts.length);
      for (const draft of drafts) putDraft(out, draft);
    });
  }

  override markActive(tenantId: string, ids: readonly string[], month: number): Promise<void> {
    const thread = this.#busyThread();
    if (thread === undefined) return super.markActive(tenantId, ids, month);
    return thread.write('markActive', (out) => {
      out.put(tenantId, month, ids.length);
      for (const id of ids) out.put(id);
    });
  }

  override async close(): Promise<void> {
    this.#isClosing = true;
    await this.#starting;
    await this.#thread?.close();
    await super.close();
  }

  /** Starts the thread, if that can be: what cannot start one does without. */
  startThread(): Promise<void> {
    if (this.#isClosing) return Promise.resolve();
    this.#starting ??= this.#startThread().then(
      (thread) => {
        this.#thread = thread;
      },
      () => undefined,
    );
    return this.#starting;
  }

  /** What reads leave behind is written here, unless the other thread writes now: two that do would wait for each other's lock. */
  #busyThread(): WriterThread | undefined {
    return this.#thread?.isBusy ? this.#thread : undefined;
  }

  async #here<T>(write: () => Promise<T>): Promise<T> {
    if (this.#underWay > 0) void this.startThread();
    this.#underWay += 1;
    try {
      return await write();
    } finally {
      this.#underWay -= 1;
    }
  }
}
