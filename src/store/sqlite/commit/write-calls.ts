import type { AuditDraft, AuditHead } from '../../../core/audit/ports.ts';
import { freeBytes } from '../../../core/bytes.ts';
import type { NewToken } from '../../../core/insert-ports.ts';
import type { Store, TokenIndexes, TokenRecord, Tombstone } from '../../../core/ports.ts';
import type { StoredReply } from '../../../core/reply-ports.ts';
import { nextTick } from '../../../core/timers.ts';
import { TOKEN_ROW } from '../../rows/record-columns.ts';
import { FILE_TABLES } from '../tables/file-dialect.ts';
import { type CallOutcome, type Cell, failureOf, Inbox, type Outbox, type WriteMessage } from './write-messages.ts';

/** Encodes and decodes one argument of a call for the other thread. */
interface Argument<T> {
  put(out: Outbox, value: T): void;
  take(from: Inbox): T;
}

// Both ends have the same build, so each value has the type of the encoded one.
function cell<T extends Cell>(): Argument<T> {
  return { put: (out, value) => out.put(value), take: (from) => from.cell() as T };
}

const number = cell<number>();
const text = cell<string>();
const flag = cell<boolean>();
const bytes: Argument<Uint8Array> = {
  put: (out, value) => out.putBytes(value),
  take: (from) => from.bytes() as Uint8Array,
};

/** Encodes a list. An absent list arrives as an empty list. */
function listOf<T>({ put, take }: Argument<T>): Argument<readonly T[]> {
  return {
    put(out, values: readonly T[] = []) {
      out.put(values.length);
      for (const value of values) put(out, value);
    },
    take: (from) => Array.from({ length: Number(from.cell()) }, () => take(from)),
  };
}

function object<T extends object>(members: { readonly [Name in keyof T]-?: Argument<T[Name]> }): Argument<T> {
  return {
    put(out, value) {
      for (const name in members) members[name].put(out, value[name]);
    },
    take(from) {
      const value: Partial<T> = {};
      for (const name in members) value[name] = members[name].take(from);
      return value as T;
    },
  };
}

/** Encodes a tenant's record, column by column. */
function record<Row extends { readonly tenant_id: string }>({ types }: Columns): Argument<Row> {
  const columns = Object.entries(types).map(([name, type]) => [name, type === 'bytes' ? bytes : cell()]);
  return object<Row>(Object.fromEntries([['tenant_id', text], ...columns]));
}

type Columns = Pick<typeof TOKEN_ROW | typeof FILE_TABLES.tombstone | typeof FILE_TABLES.reply, 'types'>;

const blinds = listOf(bytes);

const parts = object<Omit<AuditDraft, 'reply'> & { readonly replies: readonly StoredReply[] }>({
  at: number,
  witness: object<AuditHead>({ sequence: number, link: bytes }),
  sealed: bytes,
  replies: listOf(record<StoredReply>(FILE_TABLES.reply)),
});

const draft: Argument<AuditDraft> = {
  put: (out, { reply, ...rest }) => parts.put(out, { ...rest, replies: reply === undefined ? [] : [reply] }),
  take(from) {
    const { replies, ...rest } = parts.take(from);
    return { ...rest, reply: replies[0] };
  },
};

const indexes = object<TokenIndexes>({ fingerprint: bytes, containers: blinds, others: blinds, former: blinds });

type Arguments<Values extends readonly unknown[]> = { readonly [Position in keyof Values]: Argument<Values[Position]> };

export type WriteName = 'insertToken' | 'insertTokens' | 'replaceToken' | 'deleteToken' | 'appendAudit' | 'markActive';

/** The calls that another thread can make, with their arguments in order. */
const WRITES: { readonly [Name in WriteName]: Arguments<Parameters<Store[Name]>> } = {
  insertToken: [record<TokenRecord>(TOKEN_ROW), indexes, object({ deduplicate: flag, now: number }), draft],
  insertTokens: [
    listOf(object<NewToken>({ token: record<TokenRecord>(TOKEN_ROW), indexes, deduplicate: flag })),
    number,
    draft,
  ],
  replaceToken: [record<TokenRecord>(TOKEN_ROW), indexes, object({ revision: number, now: number }), draft],
  deleteToken: [record<Tombstone>(FILE_TABLES.tombstone), number, draft],
  appendAudit: [listOf(draft)],
  markActive: [text, listOf(text), number],
};

export function putCall<Name extends WriteName>(out: Outbox, name: Name, values: Parameters<Store[Name]>): void {
  out.put(name);
  const members: readonly Argument<unknown>[] = WRITES[name];
  for (const [position, member] of members.entries()) member.put(out, values[position]);
}

export type WriteReply = readonly [call: number, outcome: CallOutcome];

/**
 * Returns a function that runs the calls of a message on `store`. Calls that end in the same tick share one call of
 * `answer`.
 */
export function createWriteServer(store: Store, answer: (replies: readonly WriteReply[]) => void) {
  let ended: WriteReply[] = [];

  function end(call: number, outcome: CallOutcome): void {
    // A tick later, all calls of this commit have ended.
    if (ended.length === 0) {
      nextTick(() => {
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
      const ended = makeCall(store, from).then(
        (result) => end(call, { result }),
        (error: unknown) => end(call, failureOf(error)),
      );
      calls.push(ended);
    }
    void Promise.all(calls).then(() => freeBytes(new Uint8Array(message.bytes)));
  };
}

/** Decodes the next call of a message and runs it. */
function makeCall(store: Store, from: Inbox): Promise<unknown> {
  const name = from.cell() as WriteName;
  const members: readonly Argument<unknown>[] = WRITES[name];
  const write = store[name] as (...values: readonly unknown[]) => Promise<unknown>;
  return write(...members.map((member) => member.take(from)));
}
