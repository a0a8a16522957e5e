import { EventEmitter } from 'node:events';
import type { Store } from '../core/ports.ts';
import { Writer, type WriterMessage } from '../store/sqlite/commit/remote-writer.ts';
import { type Chain, createWriteServer } from '../store/sqlite/commit/write-calls.ts';
import type { WriteMessage } from '../store/sqlite/commit/write-messages.ts';

/** The number of the process that writes for all processes. */
const FIRST = 1;

/**
 * Passes messages between the processes that serve one file. Each process has a number. Messages never contain keys or
 * plaintext.
 */
export interface WriteRelay {
  readonly isFirst: boolean;
  /** Sends a message to the process with the number `to`. Drops it when that process has ended. */
  send(to: number, message: unknown): void;
  onMessage(listener: (from: number, message: unknown) => void): void;
  /** Calls `listener` when the first process becomes unreachable. */
  onLost(listener: () => void): void;
}

/** Receives the writes of the other processes and performs them through the store of this process. */
export function serveRelay(relay: WriteRelay, store: Store, chain: Chain): void {
  const servers = new Map<number, ReturnType<typeof createWriteServer>>();
  relay.onMessage((from, message) => {
    const serve =
      servers.get(from) ??
      createWriteServer(store, chain, (replies) => relay.send(from, { replies } satisfies WriterMessage));
    servers.set(from, serve);
    serve(message as WriteMessage);
  });
}

/**
 * Resolves to a writer that sends writes to the first process. Calls `lost` when that process ends; it is then unknown
 * whether unanswered writes were committed.
 */
export function relayedWriter(relay: WriteRelay, lost: () => void): Promise<Writer> {
  const events = new EventEmitter();
  const postMessage = (message: WriteMessage | 'close') => {
    if (message === 'close') events.emit('exit');
    else relay.send(FIRST, message);
  };
  const writer = new Writer(Object.assign(events, { leavesProcess: true, postMessage }), lost);
  relay.onMessage((_, message) => events.emit('message', message));
  relay.onLost(() => events.emit('exit'));
  events.emit('message', 'ready' satisfies WriterMessage);
  return writer.ready;
}
