import type { AuditDraft, IndexedSubject } from '../../../core/audit/ports.ts';
import type { NewToken } from '../../../core/insert-ports.ts';
import type { Store, TokenIndexes, TokenRecord, Tombstone } from '../../../core/ports.ts';
import type { StoredReply } from '../../../core/reply-ports.ts';
import { TOKEN } from '../../rows/record-columns.ts';
import { REPLY } from '../tables/reply-rows.ts';
import { TOMBSTONE } from '../tables/token-rows.ts';
import type { Cell, Inbox, Outbox } from './write-messages.ts';

/** Returns the link that chains an audit entry to the previous one, as `Keyring.auditLink` does. */
export type Chain = (
  previous: Uint8Array,
  entry: { readonly sequence: number; readonly at: number; readonly sealed: Uint8Array },
) => Uint8Array;

/** Encodes and decodes one argument of a call for the other thread. */
interface Argument<T> {
  put(out: Outbox, value: T): void;
  take(from: Inbox, chain: Chain): T;
}

const number: Argument<number> = { put: (out, value) => out.put(value), take: (from) => from.number() };
const text: Argument<string> = { put: (out, value) => out.put(value), take: (from) => from.text() };
const flag: Argument<boolean> = { put: (out, value) => out.put(value ? 1 : 0), take: (from) => from.number() === 1 };
const bytes: Argument<Uint8Array> = { put: (out, value) => out.putBytes(value), take: (from) => from.bytes() };

/** Encodes a list. An absent list arrives as an empty list. */
function listOf<T>({ put, take }: Argument<T>): Argument<readonly T[]> {
  return {
    put(out, values: readonly T[] = []) {
      out.put(values.length);
      for (const value of values) put(out, value);
    },
    take(from, chain) {
      const values: T[] = [];
      for (let left = from.number(); left > 0; left -= 1) values.push(take(from, chain));
      return values;
    },
  };
}

function object<T extends object>(members: { readonly [Name in keyof T]-?: Argument<T[Name]> }): Argument<T> {
  return {
    put(out, value) {
      for (const name in members) members[name].put(out, value[name]);
    },
    take(from, chain) {
      const value: Partial<T> = {};
      for (const name in members) value[name] = members[name].take(from, chain);
      return value as T;
    },
  };
}

/** Encodes a tenant's record, column by column in the order of its table. */
function record<Row extends { readonly tenant_id: string }>(table: {
  readonly names: readonly (keyof Row & string)[];
  readonly blobs: ReadonlySet<string>;
}): Argument<Row> {
  const { names, blobs } = table;
  return {
    put(out, row) {
      out.put(row.tenant_id);
      for (const name of names) {
        if (blobs.has(name)) out.putBytes(row[name] as Uint8Array | undefined);
        else out.put(row[name] as Cell);
      }
    },
    take(from) {
      const row: Record<string, unknown> = { tenant_id: from.text() };
      for (const name of names) row[name] = blobs.has(name) ? from.optionalBytes() : from.cell();
      return row as Row;
    },
  };
}

const blinds = listOf(bytes);

const indexedSubjects = listOf(object<IndexedSubject>({ n: number, blind: bytes }));

const storedReplies = listOf(record<StoredReply>(REPLY));

/** Encodes an audit draft without its function `link`, which the receiving thread creates. */
const draft: Argument<AuditDraft> = {
  put(out, { at, sealed, subjects, reply, shows = [] }) {
    out.put(at);
    out.putBytes(sealed);
    indexedSubjects.put(out, subjects);
    storedReplies.put(out, reply === undefined ? [] : [reply]);
    blinds.put(out, shows);
  },
  take(from, chain) {
    const at = from.number();
    const sealed = from.bytes();
    const subjects = indexedSubjects.take(from, chain);
    const [reply] = storedReplies.take(from, chain);
    const shows = blinds.take(from, chain);
    const link: AuditDraft['link'] = (previous, sequence) => chain(previous, { sequence, at, sealed });
    return { at, sealed, subjects, reply, shows, link };
  },
};

const indexes = object<TokenIndexes>({ fingerprint: bytes, containers: blinds, others: blinds, former: blinds });

type Arguments<Values extends readonly unknown[]> = { readonly [Place in keyof Values]: Argument<Values[Place]> };

export type WriteName = 'insertToken' | 'insertTokens' | 'replaceToken' | 'deleteToken' | 'appendAudit' | 'markActive';

/** The calls that another thread can make, with their arguments in order. */
const WRITES: { readonly [Name in WriteName]: Arguments<Parameters<Store[Name]>> } = {
  insertToken: [record<TokenRecord>(TOKEN), indexes, object({ deduplicate: flag, now: number }), draft],
  insertTokens: [
    listOf(object<NewToken>({ token: record<TokenRecord>(TOKEN), indexes, deduplicate: flag })),
    number,
    draft,
  ],
  replaceToken: [record<TokenRecord>(TOKEN), indexes, object({ revision: number, now: number }), draft],
  deleteToken: [record<Tombstone>(TOMBSTONE), number, draft],
  appendAudit: [listOf(draft)],
  markActive: [text, listOf(text), number],
};

export function putCall<Name extends WriteName>(out: Outbox, name: Name, values: Parameters<Store[Name]>): void {
  out.put(name);
  const members: readonly Argument<unknown>[] = WRITES[name];
  for (const [place, member] of members.entries()) member.put(out, values[place]);
}

/** Decodes the next call of a message and runs it. */
export function makeCall(store: Store, from: Inbox, chain: Chain): Promise<unknown> {
  const name = from.text();
  if (!isWrite(name)) throw new TypeError('unknown write call');
  const members: readonly Argument<unknown>[] = WRITES[name];
  const write = store[name] as (...values: readonly unknown[]) => Promise<unknown>;
  return write(...members.map((member) => member.take(from, chain)));
}

function isWrite(name: string): name is WriteName {
  return Object.hasOwn(WRITES, name);
}
