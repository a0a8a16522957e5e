import type { Keyring, Store, WrappedKey } from '../ports.ts';
import { Problem } from '../problem.ts';
import type { SnapshotReads } from '../scan-ports.ts';
import { endOfTick } from '../timers.ts';
import { type AuditEvent, encodeAuditRow } from './audit-event.ts';
import { type AuthorityMap, createAuthorityMap, type StampedRecord, scannedMap } from './authority-map.ts';
import { authorityRows, BEFORE_ALL, findPosition, TAIL_ROWS } from './authority-rows.ts';
import { addedBy, type FollowedPosition, type Following, passCommits } from './follow-rows.ts';
import type { AuditEntry, RecordChange, SealedRow, Witness } from './ports.ts';
import { addDigests, authorityRecords, changesOf, headerMark, removesTenant } from './record-digest.ts';
import { createSums, digestOfState, readBase } from './sums.ts';
import { BrokenAudit, problemOf } from './walk-audit.ts';

/** The number of rows in one read. Usually more than the rows of one commit. */
const PAGE = 500;

/** The number of commits whose positions are remembered, to compare the witnesses of later rows. */
const REMEMBERED = 1000;

/** How often `open` begins again while prunes move the beginning of the audit. */
const MAX_TRIES = 4;

interface Parts {
  readonly store: Store;
  readonly keyring: Keyring;
}

type Followed = 'tenant' | 'application' | 'application_key';

/** A record as it was read. `keys` are the ids of a tenant's keys, if they were read, too. */
interface ReadRecord {
  readonly tenant_id: string;
  readonly id: string;
  readonly revision: number;
  readonly keys?: readonly number[] | undefined;
}

/** The records that an identity consists of, at the state in which they were read. */
export interface Stamp {
  /** The map that has them. A follower that opens the audit again has a new map. */
  readonly map: AuthorityMap;
  readonly tenant_id: string;
  readonly changed: number;
  readonly records: readonly StampedRecord[];
}

interface State {
  /** Whether records differed from the audit when it was opened. */
  readonly isAltered: boolean;
  position: FollowedPosition;
  readonly map: AuthorityMap;
  /** The last positions, in order. */
  readonly passed: Map<number, Witness>;
}

export type Follower = ReturnType<typeof createFollower>;

/**
 * Creates the follower of an audit: it reads, links and opens each new row once, and so knows the revision of each
 * record of authority. It is the only source of that knowledge: a record that differs was restored from an older copy,
 * or altered. At the first call, it compares all these records with the digest of the last authority row. If records
 * differ that no entry names, their tenant is closed.
 */
export function createFollower({ store, keyring }: Parts) {
  let state: State | undefined;
  let opening: Promise<State> | undefined;
  let following: Promise<void> | undefined;
  /** The number of the last read that was sent, and of the last one whose rows were passed. */
  let [sent, passedRead] = [0, 0];
  let openings = 0;

  async function open(): Promise<State> {
    for (let tries = 1; ; tries += 1) {
      try {
        const opened = await openOnce({ store, keyring });
        openings += 1;
        return opened;
      } catch (error) {
        // A prune may remove rows between two reads.
        if (!(error instanceof BrokenAudit) || tries === MAX_TRIES) throw problemOf(error);
      }
    }
  }

  /** Opens the audit, once for all callers. */
  async function opened(): Promise<State> {
    opening ??= open().finally(() => {
      opening = undefined;
    });
    state = await opening;
    return state;
  }

  /** Yields the commits that follow a position. Throws `integrity_failure` for a row that is not the one which was written. */
  function* passOrFail(from: FollowedPosition, rows: readonly AuditEntry[], following: Following) {
    try {
      yield* passCommits(keyring, from, rows, following);
    } catch (error) {
      throw problemOf(error);
    }
  }

  /**
   * Passes rows from the known position on, of which a read had at most `limit`. Returns whether there may be more;
   * with `longer`, the next commit has more rows than the limit.
   */
  function pass(
    current: State,
    from: number,
    rows: readonly AuditEntry[],
    limit: number,
  ): 'all' | 'more' | 'longer' | 'lost' | 'anew' {
    const { map, passed } = current;
    const [first] = rows;
    if (first !== undefined && first.sequence > from) return 'anew';
    if (from > 0) {
      if (first === undefined || Buffer.compare(first.link, passed.get(from)?.link ?? first.link) !== 0) return 'lost';
    }
    const before = current.position.sequence;
    const added = rows.filter(({ sequence }) => sequence > before);
    // Most reads find only the known row.
    if (added.length === 0 && rows.length < limit) return 'all';
    const following = { positionAt: (sequence: number) => passed.get(sequence), sumOf: map.sumOf };
    for (const { position, events } of passOrFail(current.position, added, following)) {
      if (events.some(({ action }) => action === 'acceptTenant')) return 'anew';
      for (const event of events) applyEvent(map, event, position.sequence);
      current.position = position;
      passed.set(position.sequence, position);
      if (passed.size > REMEMBERED) passed.delete(passed.keys().next().value ?? 0);
    }
    const { sequence } = current.position;
    if (rows.length === limit) return sequence === before ? 'longer' : 'more';
    const rest = added.at(-1);
    if (rest !== undefined && rest.sequence > sequence) throw problemOf(new BrokenAudit(rest, 'has no link behind it'));
    return 'all';
  }

  async function readNew(): Promise<void> {
    if (state === undefined) {
      await opened();
      return;
    }
    for (let limit = PAGE; ; ) {
      const current: State = state;
      const { sequence: from } = current.position;
      sent += 1;
      const number = sent;
      const rows = await store.followAudit(from - 1, limit);
      // A read that was sent later has passed these rows, or the audit was opened again.
      if (number < passedRead || state !== current) return;
      passedRead = number;
      const outcome = pass(current, from, rows, limit);
      if (outcome === 'all') return;
      if (outcome === 'longer') limit *= 2;
      if (outcome === 'more' || outcome === 'longer') continue;
      if (outcome === 'lost') store.acceptLoss(Math.max(1, from - (await store.auditHead()).sequence));
      await opened();
      return;
    }
  }

  /**
   * Resolves when this process knows every row that was committed before the call. Callers of one tick share a read.
   * Rejects with `integrity_failure` if the audit, or records that no entry names, were altered.
   */
  function follow(): Promise<void> {
    following ??= endOfTick().then(() => {
      following = undefined;
      return readNew();
    });
    return following;
  }

  function isCurrentNow(table: Followed, { tenant_id, id, revision, keys }: ReadRecord): boolean {
    if (state?.map.revisionOf(table, tenant_id, id) !== revision) return false;
    return keys === undefined || state.map.hasKeys(tenant_id, keys);
  }

  function findStored(table: StampedRecord['table'], { tenant_id, id }: Pick<ReadRecord, 'tenant_id' | 'id'>) {
    return table === 'application' ? store.findApplication(tenant_id, id, 0) : store.findApplicationKey(tenant_id, id);
  }

  /** Resolves to whether the store still has the record as it was read. */
  async function isStored(table: Followed, record: ReadRecord): Promise<boolean> {
    const { id, revision, keys } = record;
    if (table !== 'tenant') return (await findStored(table, record))?.revision === revision;
    const found = await store.findTenant(id);
    return (
      found?.tenant.revision === revision && (keys === undefined || found.keys.map(keyIdOf).join() === keys.join())
    );
  }

  return {
    follow,

    /** Follows synchronously, in the snapshot of a tick. Returns false if `follow` must do it. */
    followNow(reads: Pick<SnapshotReads, 'followAudit'>): boolean {
      if (state === undefined) return false;
      const { sequence } = state.position;
      return pass(state, sequence, reads.followAudit(sequence - 1, PAGE), PAGE) === 'all';
    },

    /** Returns the last known row; the position before all rows at first. */
    known: (): Witness => state?.position ?? BEFORE_ALL,

    /**
     * Seals the row of a change of authority behind `rows`: all rows from the known one on, of which the last ones may
     * not be committed yet.
     */
    sealBehind(rows: readonly AuditEntry[], events: readonly AuditEvent[], at: number): SealedRow {
      const known = state;
      if (known === undefined) throw new Error('unreachable: a change of authority follows the audit first');
      const { passed, map } = known;
      const [first] = rows;
      const { sequence: from } = known.position;
      if (from > 0 && first?.sequence !== from) throw new Problem('write_conflict');
      const sums = new Map<string, bigint>();
      const positions = new Map<number, Witness>();
      const sumOf = (id: string) => sums.get(id) ?? map.sumOf(id);
      const positionAt = (sequence: number) => positions.get(sequence) ?? passed.get(sequence);
      let { position } = known;
      const added = rows.filter(({ sequence }) => sequence > from);
      for (const commit of passOrFail(position, added, { positionAt, sumOf })) {
        ({ position } = commit);
        positions.set(position.sequence, position);
        for (const event of commit.events) addTo(sums, event, sumOf);
      }
      const digest = addDigests(position.digest, addedBy(keyring, events, sumOf));
      const text = encodeAuditRow(
        position,
        events.map((event) => ({ event, at })),
        digest,
      );
      return { at, witness: position, sealed: keyring.sealAuditEvent(at, text) };
    },

    /**
     * Resolves to whether a record that was read is the current one. Resolves to false if it has changed since. Rejects
     * with `integrity_failure` for a record that was restored from an older copy.
     */
    async isCurrent(table: Followed, record: ReadRecord): Promise<boolean> {
      if (isCurrentNow(table, record)) return true;
      await follow();
      if (isCurrentNow(table, record)) return true;
      if (!(await isStored(table, record))) return false;
      throw lost(`the ${table} ${record.id} or its keys were restored from an older copy`);
    },

    /**
     * Resolves to whether a record that the store did not find is gone from the audit, too. Resolves to false if its
     * row exists by now. Rejects with `integrity_failure` if only its row is gone.
     */
    async isGone(table: StampedRecord['table'], tenant_id: string, id: string): Promise<boolean> {
      async function isKnown(): Promise<boolean> {
        await follow();
        return state?.map.revisionOf(table, tenant_id, id) !== undefined;
      }
      if (!(await isKnown())) return true;
      if ((await findStored(table, { tenant_id, id })) !== undefined) return false;
      // Another process may have removed it meanwhile.
      if (!(await isKnown())) return true;
      throw lost(`the row of the ${table} ${id} was removed`);
    },

    /** Returns whether a record is the current one, as far as this process has followed the audit. */
    isKnown: isCurrentNow,

    /** Returns the ids of the tenants that the audit knows. */
    tenants: (): readonly string[] => state?.map.tenants() ?? [],

    /** Returns whether a tenant has exactly these keys. */
    hasKeys: (tenantId: string, keys: readonly number[]): boolean => state?.map.hasKeys(tenantId, keys) === true,

    /** Returns whether records differed from the audit when it was opened. */
    isAltered: (): boolean => state?.isAltered === true,

    /** Returns how often this process has opened the audit, as it does after an `acceptTenant` entry or a prune. */
    openings: (): number => openings,

    /** Returns the tenants that are closed. */
    closedTenants: (): readonly string[] => state?.map.closed() ?? [],

    /**
     * Returns the stamp of records that were read after the row `sequence` and found current. Throws `write_conflict`
     * if the tenant has changed since.
     */
    stampOf(tenant_id: string, sequence: number, records: Stamp['records']): Stamp {
      const map = state?.map;
      const changed = map?.changedAt(tenant_id);
      if (map === undefined || changed === undefined || changed > sequence) throw new Problem('write_conflict');
      return { map, tenant_id, changed, records };
    },

    /** Returns whether none of the records has changed since. */
    isUnchanged: ({ map, tenant_id, changed, records }: Stamp): boolean =>
      state?.map === map && map.isUnchanged(tenant_id, changed, records),
  };

  function addTo(sums: Map<string, bigint>, event: AuditEvent, sumOf: (id: string) => bigint): void {
    const { tenant_id } = event;
    if (tenant_id === undefined) return;
    const added = addedBy(keyring, [event], sumOf);
    sums.set(tenant_id, addDigests(sumOf(tenant_id), added));
  }
}

const lost = (what: string) => new Problem('integrity_failure', { cause: new Error(what) });

const keyIdOf = ({ key_id }: WrappedKey): number => key_id;

function applyEvent(map: AuthorityMap, event: AuditEvent, sequence: number): void {
  if (removesTenant(event)) map.removeTenant(event.tenant_id ?? '');
  else for (const change of changesOf(event)) map.apply(change, sequence);
}

const OTHER_HEADER = 'the header of the vault differs from its last change in the audit: an older one was restored';

type OrderedEvents = readonly { readonly event: AuditEvent; readonly sequence: number }[];

/** Resolves to the events of all rows of authority behind the base, in order. */
async function authorityEvents(...of: Parameters<typeof authorityRows>): Promise<OrderedEvents> {
  const rows = [];
  for await (const row of authorityRows(...of)) rows.push(row);
  return rows.toReversed().flatMap(({ events, sequence }) => events.map((event) => ({ event, sequence })));
}

/** Returns the row of the last acceptance of each accepted tenant. */
function acceptances(events: OrderedEvents): ReadonlyMap<string, number> {
  const accepted = events.filter(({ event }) => event.action === 'acceptTenant');
  return new Map(accepted.map(({ event, sequence }) => [event.tenant_id ?? '', sequence]));
}

/** Compares all records of authority with the digest of the last authority row. Rejects with `BrokenAudit`. */
async function openOnce(parts: Parts): Promise<State> {
  const { store, keyring } = parts;
  const scan = await store.scanAuthority(TAIL_ROWS);
  const base = await readBase(parts);
  const position = await findPosition(parts, base, scan.rows);
  const passed = new Map<number, Witness>([[position.sequence, position]]);
  // A new vault has a header before its first row.
  if (position.authority === 0 && scan.tenants.length === 0)
    return { isAltered: false, position, map: createAuthorityMap(keyring), passed };
  const mark = headerMark(scan.mac);
  const map = scannedMap(keyring, scan, mark, position.sequence);
  if (map.digest() === position.digest) return { isAltered: false, position, map, passed };
  const events = await authorityEvents(parts, position.authority, base.sequence);
  const sums = createSums(keyring, base.state);
  const named = new Set<string>();
  const accepted = acceptances(events);
  const nameOf = ({ table, tenant_id, id }: RecordChange) => `${table} ${tenant_id} ${id}`;
  for (const { event, sequence } of events) {
    sums.apply({ event, sequence });
    // An acceptance replaces what earlier entries say about the tenant.
    if (sequence < (accepted.get(event.tenant_id ?? '') ?? 0)) continue;
    if (removesTenant(event)) map.removeTenant(event.tenant_id ?? '');
    for (const change of changesOf(event)) {
      map.set(change, position.sequence);
      named.add(nameOf(change));
    }
  }
  // The entries name each record of a tenant that is not older than the base, unless the tenant was accepted.
  for (const record of authorityRecords(scan)) {
    const isNew = !base.state.tenants.has(record.tenant_id) && !accepted.has(record.tenant_id);
    if (isNew && !named.has(nameOf(record))) map.set({ ...record, to: 0 }, position.sequence);
  }
  const expected = sums.state();
  // The header is a part of every call.
  if (expected.header !== mark || digestOfState(keyring, expected) !== position.digest) {
    throw new Problem('integrity_failure', { cause: new Error(OTHER_HEADER) });
  }
  map.closeOthers(new Map([...expected.tenants].map(([id, { authority }]) => [id, authority])));
  return { isAltered: true, position, map, passed };
}
