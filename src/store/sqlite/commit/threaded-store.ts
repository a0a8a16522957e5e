import { runningTime } from '../../../core/timers.ts';
import { type FileStore, sqliteStore } from '../sqlite-store.ts';
import type { Writer } from './remote-writer.ts';
import type { Session } from './session.ts';

export interface ThreadedStore extends FileStore {
  /** Starts the writer. Also resolves when the writer cannot start; the store then writes on this thread. */
  startThread(): Promise<void>;
}

/** If commits on this thread take longer on average, the writes of the next `SLOW_FOR_MS` go to the other thread. */
const SLOW_MS = 2;
const SLOW_FOR_MS = 1_000;
/** The share of the latest commit in the average, and the maximum that one commit counts, in milliseconds. */
const [LATEST, MAX_COUNTED_MS] = [0.1, 10];

/**
 * Returns a store that writes tokens and the audit in another thread while several writes are under way: a commit waits
 * for the disk and would block this thread. A write with no other beside it, and all other methods, use `sqliteStore` on
 * this thread, which is faster for them, unless the disk is slow.
 */
export function threadedStore(session: Session, start: () => Promise<Writer>): ThreadedStore {
  const here = sqliteStore(session);
  let thread: Writer | undefined;
  let starting: Promise<void> | undefined;
  let underWay = 0;
  /** The time until which single writes go to the other thread. */
  let slowUntil = 0;
  /** The average duration of the commits on this thread, in milliseconds. */
  let averageMs = 0;
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

  /** Returns the thread if it should make a write, else undefined: this thread makes it. */
  function threadFor(tokens = 1): Writer | undefined {
    const isAlone = underWay === 0 && tokens === 1 && !thread?.isWriting;
    if (!isAlone) void startThread();
    return isAlone && runningTime() >= slowUntil ? undefined : thread;
  }

  async function writeHere<T>(write: () => Promise<T>): Promise<T> {
    underWay += 1;
    const began = runningTime();
    try {
      return await write();
    } finally {
      underWay -= 1;
      const now = runningTime();
      averageMs += LATEST * (Math.min(now - began, MAX_COUNTED_MS) - averageMs);
      if (averageMs > SLOW_MS) slowUntil = now + SLOW_FOR_MS;
    }
  }

  const writingThread = (): Writer | undefined => (thread?.isWriting ? thread : undefined);

  return {
    ...here,
    startThread,
    insertToken: (...call) => threadFor()?.write('insertToken', ...call) ?? writeHere(() => here.insertToken(...call)),
    insertTokens: (...call) =>
      threadFor(call[0].length)?.write('insertTokens', ...call) ?? writeHere(() => here.insertTokens(...call)),
    replaceToken: (...call) =>
      threadFor()?.write('replaceToken', ...call) ?? writeHere(() => here.replaceToken(...call)),
    deleteToken: (...call) => threadFor()?.write('deleteToken', ...call) ?? writeHere(() => here.deleteToken(...call)),
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
