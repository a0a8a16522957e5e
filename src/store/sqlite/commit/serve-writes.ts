import type { Store, TokenRecord, Tombstone } from '../../../core/ports.ts';
import { TOKEN, TOMBSTONE } from '../tables/token-rows.ts';
import {
  type Chain,
  failureOf,
  Inbox,
  type Outcome,
  takeDraft,
  takeIndexes,
  takeRecord,
  type WriteMessage,
} from './write-messages.ts';

/** The calls that another thread can make, and how their members are taken out of a message. */
const WRITES = {
  insertToken(store: Store, from: Inbox, chain: Chain) {
    const record = takeRecord<TokenRecord>(from, TOKEN);
    const indexes = takeIndexes(from);
    const options = { deduplicate: from.number() === 1, now: from.number() };
    return store.insertToken(record, indexes, options, takeDraft(from, chain));
  },

  replaceToken(store: Store, from: Inbox, chain: Chain) {
    const record = takeRecord<TokenRecord>(from, TOKEN);
    const indexes = takeIndexes(from);
    const expected = { revision: from.number(), now: from.number() };
    return store.replaceToken(record, indexes, expected, takeDraft(from, chain));
  },

  deleteToken(store: Store, from: Inbox, chain: Chain) {
    return store.deleteToken(takeRecord<Tombstone>(from, TOMBSTONE), from.number(), takeDraft(from, chain));
  },

  appendAudit(store: Store, from: Inbox, chain: Chain) {
    return store.appendAudit(Array.from({ length: from.number() }, () => takeDraft(from, chain)));
  },

  markActive(store: Store, from: Inbox) {
    const tenantId = from.text();
    const month = from.number();
    const ids = Array.from({ length: from.number() }, () => from.text());
    return store.markActive(tenantId, ids, month);
  },
};

export type WriteName = keyof typeof WRITES;

function isWrite(name: string): name is WriteName {
  return Object.hasOwn(WRITES, name);
}

/** The answer to a call, by its number. */
export type WriteReply = readonly [number, Outcome];

/** Makes the calls of a message, and answers those that end together together. */
export function createWriteServer(store: Store, chain: Chain, answer: (replies: readonly WriteReply[]) => void) {
  let ended: WriteReply[] = [];

  function end(call: number, outcome: Outcome): void {
    // Comes when all that this commit has settled have been here.
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
    while (!from.isEmpty) {
      const call = from.number();
      const name = from.text();
      if (!isWrite(name)) throw new TypeError('there is no such write');
      WRITES[name](store, from, chain).then(
        (result: unknown) => end(call, { result }),
        (error: unknown) => end(call, failureOf(error)),
      );
    }
  };
}
