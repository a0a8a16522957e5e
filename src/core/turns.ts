import type { Call, Client, Reply } from '../contract/call.ts';
import type { OperationId } from '../contract/operations.ts';
import type { Dispatch } from './dispatch.ts';
import type { HandlerNow, Turn } from './handler.ts';
import type { Store } from './ports.ts';
import { getTokenNow } from './tokens/get.ts';
import { listTokensNow } from './tokens/list.ts';

/** Bytes of sealed values that the lists of one turn read. */
const MAX_LISTED = 512 * 1024;

/** The operations that a snapshot answers. */
const HANDLERS_NOW: { readonly [Id in OperationId]?: HandlerNow<Id> } = {
  getToken: getTokenNow,
  listTokens: listTokensNow,
};

interface Waiting {
  readonly call: Call;
  readonly handler: HandlerNow<OperationId>;
  readonly answered: (reply: Reply) => void;
}

/**
 * Answers the reads that arrive in one turn of the event loop together, at its end: one look at the authority, one snapshot.
 * A call sees every change that was committed before it arrived. All other calls take the way of `dispatch`.
 */
export function createTurns(
  { dispatch, answerNow }: Dispatch,
  { readNow = () => undefined }: Pick<Store, 'readNow'>,
): NonNullable<Client['take']> {
  let waiting: Waiting[] = [];

  function endTurn(): void {
    const calls = waiting;
    waiting = [];
    const replies = readNow((reads) => {
      const turn: Turn = { reads, room: MAX_LISTED };
      return calls.map(({ call, handler }) => answerNow(call, handler, turn));
    });
    // Replies go out after the snapshot: a slow client must not keep it open.
    for (const [index, { call, answered }] of calls.entries()) {
      const reply = replies?.[index] ?? dispatch(call);
      if (reply instanceof Promise) void reply.then(answered);
      else answered(reply);
    }
  }

  return (call, answered) => {
    const handler = HANDLERS_NOW[call.operation] as HandlerNow<OperationId> | undefined;
    if (handler === undefined || call.readBody !== undefined) {
      void dispatch(call).then(answered);
      return;
    }
    if (waiting.length === 0) setImmediate(endTurn);
    waiting.push({ call, handler, answered });
  };
}
