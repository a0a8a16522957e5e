import { REPLY_LIFE_MS } from '../../src/contract/limits.ts';
import { NO_LINK, ROOT_CHAIN } from '../../src/core/audit/audit-link.ts';
import type {
  AuditDraft,
  AuditEntry,
  AuditHead,
  AuditPlace,
  AuditStore,
  ChainEnd,
  ChainRecorder,
  IndexedSubject,
} from '../../src/core/audit/ports.ts';
import type {
  InspectedRecords,
  InspectedRow,
  KeysOfTenant,
  Maintenance,
  ResealedToken,
} from '../../src/core/maintenance-ports.ts';
import type { Instant, KeyIds, TokenIndexes, TokenRecord, VaultHeader } from '../../src/core/ports.ts';
import { Problem } from '../../src/core/problem.ts';
import type { StoredReply } from '../../src/core/reply-ports.ts';
import { bytesKey } from './matches-token.ts';
import { compareText, type HeldReply, type MemoryTenant, newestKey, requireNewestKeys } from './memory-tenant.ts';

/** The numbers of rows after which a chain is closed, and after which the root records the open chains. */
const [ROWS_PER_CHAIN, ROWS_PER_NOTE] = [20, 7];

class MemoryChain {
  readonly entries: AuditEntry[] = [];
  /** The subjects of each row. */
  readonly subjects: (readonly string[])[] = [];
  /** The log index as `<sequence> <blind>`, and its end. */
  readonly logged = new Set<string>();
  logEnd = 0;
  /** Undefined after a prune of the whole chain. */
  genesis: AuditEntry | undefined;
  readonly chain: string;

  constructor(chain: string, link: Uint8Array) {
    this.chain = chain;
    this.genesis = { chain, sequence: 0, at: 0, sealed: new Uint8Array(), link };
  }

  /** The number of the rows that a prune removed. */
  get pruned(): number {
    return (this.entries[0]?.sequence ?? 1) - 1;
  }

  get end(): ChainEnd {
    const { chain } = this;
    const { sequence, at, link } = this.entries.at(-1) ?? this.genesis ?? { sequence: 0, at: 0, link: NO_LINK };
    return { chain, sequence, at, link };
  }

  read(after: number, limit: number): readonly AuditEntry[] {
    const genesis = after < 0 && this.chain !== ROOT_CHAIN && this.genesis;
    const later = this.entries.filter(({ sequence }) => sequence > after);
    return [...(genesis ? [genesis] : []), ...later].slice(0, limit);
  }
}

/** The contents of the memory store. */
export class MemoryState {
  readonly tenants = new Map<string, MemoryTenant>();
  readonly chains = new Map([[ROOT_CHAIN, new MemoryChain(ROOT_CHAIN, NO_LINK)]]);
  /** The places of the last entries about a subject in each chain, oldest first, by its blind index. */
  readonly places = new Map<string, AuditPlace[]>();
  recorder: ChainRecorder | undefined;
  /** The open chains that take changes in turn, besides the root. */
  readonly #open: MemoryChain[] = [];
  readonly #daemons: number;
  #turn = 0;
  header: VaultHeader;
  authorityChanges = 0;
  changes = 0;
  closed = false;

  constructor(header: VaultHeader, daemons: number) {
    this.header = header;
    this.#daemons = daemons;
  }

  get root(): MemoryChain {
    return this.chain(ROOT_CHAIN);
  }

  chain(name: string): MemoryChain {
    return this.chains.get(name) ?? new MemoryChain(name, NO_LINK);
  }

  /** Returns the chain of the next change. Opens, records and closes chains as several daemons do. */
  #nextChain(): MemoryChain {
    const { recorder } = this;
    if (this.#daemons === 0 || recorder === undefined) return this.root;
    this.#turn += 1;
    const slot = this.#turn % this.#daemons;
    let chain = this.#open[slot];
    if (chain !== undefined && chain.entries.length >= ROWS_PER_CHAIN) {
      this.#append(this.root, recorder.closed(chain.end));
      chain = undefined;
    }
    if (chain === undefined) {
      const name = String(this.chains.size);
      chain = new MemoryChain(name, this.#append(this.root, recorder.opened(name)).link);
      this.chains.set(name, chain);
      this.#open[slot] = chain;
    }
    if (this.#turn % ROWS_PER_NOTE === 0) this.#append(this.root, recorder.noted(this.#open.map(({ end }) => end)));
    return chain;
  }

  #append(to: MemoryChain, draft: AuditDraft): AuditEntry {
    const { chain, sequence: last, link: before } = to.end;
    const sequence = last + 1;
    const row = { chain, sequence, at: draft.at, sealed: draft.sealed, link: draft.link(before, sequence) };
    to.entries.push(row);
    to.subjects.push(draft.subjects.map(subjectKey));
    for (const { blind, n } of draft.subjects.toSorted((a, b) => a.n - b.n)) {
      const places = this.places.get(bytesKey(blind)) ?? [];
      places.push({ chain, sequence, n });
      this.places.set(bytesKey(blind), places);
    }
    return row;
  }

  /** Appends the entries of reads, or of one change, to one chain. */
  append(drafts: readonly AuditDraft[], chain = this.#nextChain()): void {
    for (const draft of drafts) this.#append(chain, draft);
  }

  /** Appends the entry of a change and stores its reply. A resealed record has no entry. */
  audited(draft: AuditDraft | undefined, chain?: MemoryChain): void {
    if (draft === undefined) return;
    this.append([draft], chain);
    if (draft.reply === undefined) return;
    const shown = [...draft.subjects.map(({ blind }) => blind), ...(draft.shows ?? [])];
    const subjects = new Set(shown.map(bytesKey));
    this.tenants.get(draft.reply.tenant_id)?.replies.set(replyKey(draft.reply), { reply: draft.reply, subjects });
  }

  /** Appends the entry of a removal and empties the replies that show a removed record. */
  removed(draft: AuditDraft): void {
    this.audited(draft);
    const blinds = draft.subjects.map(({ blind }) => bytesKey(blind));
    for (const { replies } of this.tenants.values()) {
      for (const [key, held] of replies) {
        if (blinds.some((blind) => held.subjects.has(blind))) replies.set(key, emptied(held));
      }
    }
  }

  findReply(tenantId: string, key: string, now: Instant): StoredReply | undefined {
    const reply = this.tenants.get(tenantId)?.replies.get(key)?.reply;
    return reply !== undefined && reply.created_at > now - REPLY_LIFE_MS ? reply : undefined;
  }

  /** Throws `write_conflict` when the key of a reply is taken. Call it before any change. */
  requireFree(draft: AuditDraft | undefined): void {
    if (draft?.reply === undefined) return;
    const { tenant_id, created_at } = draft.reply;
    if (this.findReply(tenant_id, replyKey(draft.reply), created_at)) throw new Problem('write_conflict');
  }

  assertOpen(): void {
    if (this.closed) throw new Problem('vault_stopping', { retryAfter: 1 });
  }

  /** Begins a commit. Throws `vault_stopping` after close. */
  writing(): void {
    this.assertOpen();
    this.changes += 1;
  }
}

function loggedKey(sequence: number, blind: Uint8Array): string {
  return `${sequence} ${bytesKey(blind)}`;
}

export function replyKey({ application_id, key_hash }: Pick<StoredReply, 'application_id' | 'key_hash'>): string {
  return `${application_id} ${Buffer.from(key_hash).toString('hex')}`;
}

function emptied({ reply, subjects }: HeldReply): HeldReply {
  return { reply: { ...reply, sealed: new Uint8Array() }, subjects };
}

/** Implements the ports for keys, inspection and the audit. */
export function memoryMaintenance(state: MemoryState): Maintenance & AuditStore {
  async function replaceHeader(header: VaultHeader, expected: VaultHeader, audit: AuditDraft): Promise<boolean> {
    state.writing();
    if (bytesKey(state.header.mac) !== bytesKey(expected.mac)) return false;
    state.header = header;
    state.authorityChanges += 1;
    state.audited(audit, state.root);
    return true;
  }

  return {
    async header() {
      state.assertOpen();
      return state.header;
    },

    replaceHeader,

    async replaceMasterKey(header, expected, keys, audit) {
      state.writing();
      const ids = (all: readonly KeysOfTenant[]) =>
        JSON.stringify(all.flatMap((one) => one.keys.map((key) => `${one.tenant_id} ${key.key_id}`)).sort());
      const held = [...state.tenants].map(([tenant_id, tenant]) => ({ tenant_id, keys: tenant.keys }));
      if (ids(keys) !== ids(held) || !(await replaceHeader(header, expected, audit))) return false;
      for (const { tenant_id, keys: rewrapped } of keys) {
        const tenant = state.tenants.get(tenant_id);
        if (tenant !== undefined) tenant.keys = rewrapped;
      }
      return true;
    },

    async addTenantKey(tenantId, key, audit) {
      state.writing();
      const held = state.tenants.get(tenantId);
      if (held === undefined || held.keys.some((other) => other.key_id >= key.key_id)) return false;
      if (key.generation !== state.header.generation) return false;
      held.keys = [...held.keys, key];
      state.authorityChanges += 1;
      state.audited(audit, state.root);
      return true;
    },

    async removeTenantKey(tenantId, keyId, audit) {
      state.writing();
      const held = state.tenants.get(tenantId);
      const purpose = held?.keys.find((key) => key.key_id === keyId)?.purpose;
      if (held === undefined || purpose === undefined || newestKey(held.keys, purpose) === keyId) return false;
      const tokens = [...held.tokens.values()].map(({ record }) => record);
      const inUse =
        tokens.some((token) => token.key_id === keyId || token.index_key_id === keyId) ||
        [held.record, ...held.applications.values()].some((record) => record.key_id === keyId);
      if (inUse) return false;
      held.keys = held.keys.filter((key) => key.key_id !== keyId);
      state.authorityChanges += 1;
      state.audited(audit, state.root);
      return true;
    },

    async countStale(tenantId, current) {
      state.assertOpen();
      const held = state.tenants.get(tenantId);
      if (held === undefined) return 0;
      const others = [held.record, ...held.applications.values()].filter((record) => record.key_id < current.key_id);
      return staleTokens(held, current).length + others.length;
    },

    async findStaleTokens(tenantId, current, after, limit) {
      state.assertOpen();
      const held = state.tenants.get(tenantId);
      const stale = held === undefined ? [] : staleTokens(held, current);
      const behind = stale.filter(({ id }) => compareText(id, after) > 0).sort((a, b) => compareText(a.id, b.id));
      const tokens = behind.slice(0, limit);
      return { tokens, next: tokens.length < behind.length ? tokens.at(-1)?.id : undefined };
    },

    async findStaleApplications(tenantId, current, limit) {
      state.assertOpen();
      const applications = [...(state.tenants.get(tenantId)?.applications.values() ?? [])];
      return applications.filter((record) => record.key_id < current.key_id).slice(0, limit);
    },

    async resealTokens(tenantId, changes) {
      state.writing();
      const held = state.tenants.get(tenantId);
      if (held === undefined) return 0;
      for (const { after } of changes) requireNewestKeys(held, after);
      return changes.filter((change) => reseal(held, change)).length;
    },

    async lastChange() {
      state.assertOpen();
      return { counter: state.changes, mark: Uint8Array.of(state.changes & 0xff) };
    },

    /** The rows in memory cannot be altered. */
    async inspect() {
      state.assertOpen();
      return [];
    },

    async inspectRows(table, tenantId, after, limit) {
      state.assertOpen();
      const held = state.tenants.get(tenantId);
      return held === undefined ? [] : inspected(inspectionOf(held)[table], after, limit);
    },

    async appendAudit(drafts) {
      state.writing();
      state.append(drafts);
    },

    useChainRecorder(recorder) {
      state.recorder = recorder;
    },

    async readAudit(chain, after, limit) {
      state.assertOpen();
      return state.chain(chain).read(after, limit);
    },

    async auditHead(chain): Promise<AuditHead> {
      state.assertOpen();
      const { at: _, ...head } = state.chain(chain).end;
      return head;
    },

    async auditHeads() {
      state.assertOpen();
      return [...state.chains.values()].filter(({ genesis }) => genesis !== undefined).map(({ end }) => end);
    },

    async findAudited(subjects, before) {
      state.assertOpen();
      const found = subjects
        .flatMap((blind) => state.places.get(bytesKey(blind)) ?? [])
        .filter(({ sequence }) => sequence <= before)
        .sort((a, b) => a.sequence - b.sequence || a.n - b.n);
      return [...new Map(found.map((place) => [place.chain, place])).values()];
    },

    async logIndexEnd(chain) {
      state.assertOpen();
      return state.chain(chain).logEnd;
    },

    async indexLog(name, rows, from, end) {
      state.writing();
      const chain = state.chain(name);
      if (from > chain.logEnd) return;
      for (const { sequence, blinds } of rows) for (const blind of blinds) chain.logged.add(loggedKey(sequence, blind));
      chain.logEnd = Math.max(chain.logEnd, end);
    },

    async findLogged(chain, blinds, before, limit) {
      state.assertOpen();
      const { entries, subjects, logged } = state.chain(chain);
      const wanted = blinds.map(bytesKey);
      const found = entries.filter(({ sequence }, index) => {
        const isChanged = subjects[index]?.some((key) => wanted.includes(key.slice(key.indexOf(' ') + 1)));
        return sequence < before && (isChanged || blinds.some((blind) => logged.has(loggedKey(sequence, blind))));
      });
      return found
        .map(({ sequence }) => sequence)
        .toReversed()
        .slice(0, limit);
    },

    async findUnlogged(chain, rows) {
      state.assertOpen();
      const { logged } = state.chain(chain);
      const isMissing = (sequence: number) => (blind: Uint8Array) => !logged.has(loggedKey(sequence, blind));
      return rows.filter(({ sequence, blinds }) => blinds.some(isMissing(sequence))).map(({ sequence }) => sequence);
    },

    async countLogIndex(chain, upTo) {
      state.assertOpen();
      return [...state.chain(chain).logged].filter((key) => Number(key.split(' ', 1)) <= upTo).length;
    },

    async findUnindexed(chain, places) {
      state.assertOpen();
      const { subjects: held, pruned } = state.chain(chain);
      return places
        .filter(({ sequence, subjects }) =>
          subjects.some((subject) => !held[sequence - 1 - pruned]?.includes(subjectKey(subject))),
        )
        .map(({ sequence }) => sequence);
    },

    async countAuditIndex(chain, upTo) {
      state.assertOpen();
      const { subjects, pruned } = state.chain(chain);
      return subjects.slice(0, Math.max(0, upTo - pruned)).reduce((sum, of) => sum + of.length, 0);
    },

    async pruneAudit(name, first, last, blinds) {
      state.writing();
      const chain = state.chain(name);
      const isPruned = (sequence: number) => sequence >= first && sequence <= last;
      const at = chain.entries.findIndex(({ sequence }) => isPruned(sequence));
      const { length: count } = chain.entries.filter(({ sequence }) => isPruned(sequence));
      if (at >= 0) for (const rows of [chain.entries, chain.subjects]) rows.splice(at, count);
      if (isPruned(0)) chain.genesis = undefined;
      const { sequence: end } = chain.end;
      if (end < last) chain.logEnd = Math.min(chain.logEnd, end);
      for (const blind of blinds.map(bytesKey)) {
        const isKept = (place: AuditPlace) => place.chain !== name || !isPruned(place.sequence);
        state.places.set(blind, (state.places.get(blind) ?? []).filter(isKept));
        for (const key of chain.logged) {
          const [sequence = '', ...rest] = key.split(' ');
          if (isPruned(Number(sequence)) && rest.join(' ') === blind) chain.logged.delete(key);
        }
      }
    },
  };
}

/** Returns the blind indexes of a token in the order of `InspectedRow`: the fingerprint first. */
export function blindsOf(indexes: TokenIndexes): ReadonlySet<string> {
  return new Set([indexes.fingerprint, ...(indexes.containers ?? []), ...indexes.others].map(bytesKey));
}

function bytesOf(key: string): Uint8Array {
  return Uint8Array.from(key, (character) => character.charCodeAt(0));
}

function staleTokens(held: MemoryTenant, { key_id, index_key_id }: KeyIds): readonly TokenRecord[] {
  const records = [...held.tokens.values()].map(({ record }) => record);
  return records.filter((record) => record.key_id < key_id || record.index_key_id < index_key_id);
}

function reseal(held: MemoryTenant, { before, after, indexes }: ResealedToken): boolean {
  const stored = held.tokens.get(before.id);
  const same =
    stored?.record.revision === before.revision &&
    stored.record.key_id === before.key_id &&
    stored.record.index_key_id === before.index_key_id;
  if (stored === undefined || !same) return false;
  // Only `markActive` changes the month.
  const record = { ...after, active_month: stored.record.active_month };
  held.tokens.set(before.id, { record, blinds: indexes === undefined ? stored.blinds : blindsOf(indexes) });
  return true;
}

type Inspection = { readonly [Table in keyof InspectedRecords]: readonly InspectedRow<InspectedRecords[Table]>[] };

function inspectionOf({ tokens, applications, tombstones, replies }: MemoryTenant): Inspection {
  const plain = <T extends { readonly id: string }>(record: T) => ({ id: record.id, record, indexes: [] });
  return {
    token: [...tokens.values()].map(({ record, blinds }) => ({ ...plain(record), indexes: [...blinds].map(bytesOf) })),
    application: [...applications.values()].map(plain),
    tombstone: [...tombstones.values()].map(plain),
    reply: [...replies].map(([id, { reply }]) => ({ id, record: reply, indexes: [] })),
  };
}

function inspected<Row extends { readonly id: string }>(rows: readonly Row[], after: string, limit: number) {
  const behind = rows.filter(({ id }) => compareText(id, after) > 0);
  return behind.sort((a, b) => compareText(a.id, b.id)).slice(0, limit);
}

function subjectKey({ n, blind }: IndexedSubject): string {
  return `${n} ${bytesKey(blind)}`;
}
