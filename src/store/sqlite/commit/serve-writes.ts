import { freeBytes } from '../../../core/free-bytes.ts';
import type { Store } from '../../../core/ports.ts';
import { type Chain, makeCall } from './write-calls.ts';
import { failureOf, Inbox, type Outcome, type WriteMessage } from './write-messages.ts';

/** The number of a call and its outcome. */
export type WriteReply = readonly [number, Outcome];

/**
 * Returns a function that runs the calls of a message on `store`. Calls that end in the same tick share one call of
 * `answer`.
 */
export function createWriteServer(store: Store, chain: Chain, answer: (replies: readonly WriteReply[]) => void) {
  let ended: WriteReply[] = [];

  function end(call: number, outcome: Outcome): void {
    // A tick later, all calls of this commit have ended.
    if (ended.length === 0) {
      process.nextTick(() => {
        const replies = ended;
        ended = [];
        answer(replies);
      });
    }
    ended.push([call, outcome]);
  }

  return (message: WriteMessage): void => {
    const from = new Inbox(message);
    const calls: Promise<void>[] = [];
    while (!from.isEmpty) {
      const call = Number(from.cell());
      const made = makeCall(store, from, chain).then(
        (result) => end(call, { result }),
        (error: unknown) => end(call, failureOf(error)),
      );
      calls.push(made);
    }
    void Promise.all(calls).then(() => freeBytes(new Uint8Array(message.bytes)));
  };
}
