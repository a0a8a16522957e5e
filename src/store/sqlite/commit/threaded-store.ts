import type { FileStore } from '../../../core/maintenance-ports.ts';
import { sqliteStore } from '../sqlite-store.ts';
import { TOKEN, TOMBSTONE } from '../tables/token-rows.ts';
import type { Session } from './session.ts';
import { putDraft, putIndexes, putRecord } from './write-messages.ts';
import type { WriterThread } from './writer-thread.ts';

export interface ThreadedStore extends FileStore {
  /** Starts the thread. Resolves too when it cannot start: the store then writes without it. */
  startThread(): Promise<void>;
}

/**
 * A store whose tokens are written by another thread, and the audit with them, once they come several at a time: a commit
 * waits for the disk, and this thread would wait with it, and all who read. Until then, and for all else that is written, it
 * is `sqliteStore`: a lone write ends sooner here.
 */
export function threadedStore(session: Session, start: () => Promise<WriterThread>): ThreadedStore {
  const here = sqliteStore(session);
  let thread: WriterThread | undefined;
  let starting: Promise<void> | undefined;
  let underWay = 0;
  let isClosing = false;

  function startThread(): Promise<void> {
    if (isClosing) return Promise.resolve();
    starting ??= start().then(
      (started) => {
        thread = started;
      },
      () => undefined,
    );
    return starting;
  }

  async function writeHere<T>(write: () => Promise<T>): Promise<T> {
    if (underWay > 0) void startThread();
    underWay += 1;
    try {
      return await write();
    } finally {
      underWay -= 1;
    }
  }

  /** What reads leave behind is written here, unless the other thread writes now: two that do would wait for each other's lock. */
  const busyThread = (): WriterThread | undefined => (thread?.isBusy ? thread : undefined);

  return {
    ...here,
    startThread,

    insertToken(token, indexes, options, audit) {
      if (thread === undefined) return writeHere(() => here.insertToken(token, indexes, options, audit));
      return thread.write('insertToken', (out) => {
        putRecord(out, TOKEN, token);
        putIndexes(out, indexes);
        out.put(options.deduplicate ? 1 : 0, options.now);
        putDraft(out, audit);
      });
    },

    replaceToken(token, indexes, expected, audit) {
      if (thread === undefined) return writeHere(() => here.replaceToken(token, indexes, expected, audit));
      return thread.write('replaceToken', (out) => {
        putRecord(out, TOKEN, token);
        putIndexes(out, indexes);
        out.put(expected.revision, expected.now);
        putDraft(out, audit);
      });
    },

    deleteToken(tombstone, expectedRevision, audit) {
      if (thread === undefined) return writeHere(() => here.deleteToken(tombstone, expectedRevision, audit));
      return thread.write('deleteToken', (out) => {
        putRecord(out, TOMBSTONE, tombstone);
        out.put(expectedRevision);
        putDraft(out, audit);
      });
    },

    appendAudit(drafts) {
      const busy = busyThread();
      if (busy === undefined) return here.appendAudit(drafts);
      return busy.write('appendAudit', (out) => {
        out.put(drafts.length);
        for (const draft of drafts) putDraft(out, draft);
      });
    },

    markActive(tenantId, ids, month) {
      const busy = busyThread();
      if (busy === undefined) return here.markActive(tenantId, ids, month);
      return busy.write('markActive', (out) => {
        out.put(tenantId, month, ids.length);
        for (const id of ids) out.put(id);
      });
    },

    async close() {
      isClosing = true;
      await starting;
      await thread?.close();
      await here.close();
    },
  };
}
