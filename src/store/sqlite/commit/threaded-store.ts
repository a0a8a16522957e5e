import type { FileStore } from '../sqlite-store.ts';
import { sqliteStore } from '../sqlite-store.ts';
import type { Writer } from './remote-writer.ts';
import type { Session } from './session.ts';

export interface ThreadedStore extends FileStore {
  /** Starts the writer. Also resolves when the writer cannot start; the store then writes on this thread. */
  startThread(): Promise<void>;
}

/**
 * Returns a store that writes tokens and the audit in another thread once several writes arrive at a time: a commit
 * waits for the disk and would block this thread. Single writes and all other methods use `sqliteStore` on this thread,
 * which is faster for them.
 */
export function threadedStore(session: Session, start: () => Promise<Writer>): ThreadedStore {
  const here = sqliteStore(session);
  let thread: Writer | undefined;
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

  async function writeHere<T>(write: () => Promise<T>, tokens = 1): Promise<T> {
    if (underWay > 0 || tokens > 1) void startThread();
    underWay += 1;
    try {
      return await write();
    } finally {
      underWay -= 1;
    }
  }

  const writingThread = (): Writer | undefined => (thread?.isWriting ? thread : undefined);

  return {
    ...here,
    startThread,
    insertToken: (...call) => thread?.write('insertToken', ...call) ?? writeHere(() => here.insertToken(...call)),
    insertTokens: (...call) =>
      thread?.write('insertTokens', ...call) ?? writeHere(() => here.insertTokens(...call), call[0].length),
    replaceToken: (...call) => thread?.write('replaceToken', ...call) ?? writeHere(() => here.replaceToken(...call)),
    deleteToken: (...call) => thread?.write('deleteToken', ...call) ?? writeHere(() => here.deleteToken(...call)),
    appendAudit: (...call) => writingThread()?.write('appendAudit', ...call) ?? here.appendAudit(...call),
    markActive: (...call) => writingThread()?.write('markActive', ...call) ?? here.markActive(...call),

    async close() {
      isClosing = true;
      await starting;
      await thread?.close();
      await here.close();
    },
  };
}
