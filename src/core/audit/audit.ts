import type { Instant, Keyring } from '../ports.ts';
import type { Clock } from '../time.ts';
import { clearTimeout, setTimeout } from '../timers.ts';
import { type AuditEvent, encodeAuditRow, type TimedEvent } from './audit-event.ts';
import type { AuditLevel } from './audit-level.ts';
import type { Follower } from './follower.ts';
import type { AuditDraft, AuditStore, AuthorityDraft } from './ports.ts';
import { isOfAuthority } from './record-digest.ts';

/** The number of waiting events at which `record` begins to write them, and the number at which its calls wait. */
const [WRITE_AT, MAX_WAITING] = [512, 1024];
const DELAY_MS = 50;
/** The maximum number of records that the events of one row name, unless a single event names more. */
const MAX_NAMED = 1_000;
/** The maximum number of rows in one commit: each process reads a commit as a whole. */
const MAX_ROWS = 50;

export type Audit = ReturnType<typeof createAudit>;

export interface AuditParts {
  readonly store: Pick<AuditStore, 'appendAudit'>;
  readonly keyring: Pick<Keyring, 'sealAuditEvent'>;
  readonly follower: Pick<Follower, 'known' | 'sealBehind'>;
  readonly clock: Clock;
  readonly level: AuditLevel;
  /** Whether each entry is on disk before its call gets a reply. */
  readonly strict: boolean;
}

/**
 * Creates the writer of audit events. The audit fails closed: after a failed write, each audited call tries to write
 * the waiting events with its own event, and fails if that write fails.
 */
export function createAudit({ store, keyring, follower, clock, level, strict }: AuditParts) {
  let waiting: TimedEvent[] = [];
  /** The events that are being written. */
  let leaving: readonly TimedEvent[] = [];
  let failed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  /** The last write while it has not begun. */
  let next: Promise<void> | undefined;
  const denials = createDenialWindow(() => void flush().catch(() => undefined));

  function rowOf(events: readonly TimedEvent[]): AuditDraft {
    const at = events[0]?.at ?? 0;
    const witness = follower.known();
    return { at, witness, sealed: keyring.sealAuditEvent(at, encodeAuditRow(witness, events)) };
  }

  /** Returns the row that a store writes together with changes of tokens. */
  function draft(...events: readonly AuditEvent[]): AuditDraft {
    const at = clock.now();
    return rowOf(events.map((event) => ({ event, at })));
  }

  /** Returns the row of a change of authority, which may be several events. The process must have followed the audit. */
  function draftAuthority(...events: readonly AuditEvent[]): AuthorityDraft {
    const at = clock.now();
    // A row with other events would close the vault for every process that follows the log.
    if (!events.every(isOfAuthority)) throw new Error('unreachable: a change of authority');
    return {
      from: () => Math.max(1, follower.known().sequence),
      sealBehind: (rows) => follower.sealBehind(rows, events, at),
    };
  }

  /**
   * Records an event without a change. Writes it a moment later, in one commit with other events; a strict audit writes
   * it before the promise resolves. Returns no promise when the caller need not wait. Beyond 100 denials of an
   * application in a minute, counts the denials and writes the count at the end of that minute. Rejects with the
   * store's problems; the call must then fail.
   */
  function record(event: AuditEvent): Promise<void> | undefined {
    const at = clock.now();
    if (event.status >= 400 && !failed && denials.absorb(event, at)) return undefined;
    const own = { event, at };
    waiting.push(own);
    if (strict || failed || waiting.length >= MAX_WAITING) return recordNow(own);
    if (waiting.length >= WRITE_AT) writeSoon();
    else timer ??= setTimeout(writeSoon, DELAY_MS).unref();
    return undefined;
  }

  function writeSoon(): void {
    writeWaiting().catch(() => undefined);
  }

  async function recordNow(own: TimedEvent): Promise<void> {
    try {
      await writeWaiting();
    } catch (error) {
      // This call fails, so drop its event. Keep the earlier events.
      waiting = waiting.filter((one) => one !== own);
      throw error;
    }
  }

  /** Writes the waiting events and the counted denials. Rejects with the store's problems and then keeps the events. */
  function flush(): Promise<void> {
    const at = clock.now();
    waiting.push(...denials.end().map((event) => ({ event, at })));
    return writeWaiting();
  }

  /**
   * Writes the waiting events after the previous write, so that entries have the order of their events. Calls share a
   * write that has not begun. Rejects with the store's problems and then keeps the events.
   */
  function writeWaiting(): Promise<void> {
    if (next === undefined) {
      next = writing.then(write);
      writing = next.catch(() => undefined);
    }
    return next;
  }

  async function write(): Promise<void> {
    next = undefined;
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    let rows = rowsOf(waiting);
    leaving = waiting;
    waiting = [];
    try {
      while (rows.length > 0) {
        await store.appendAudit(rows.slice(0, MAX_ROWS).map(rowOf));
        rows = rows.slice(MAX_ROWS);
      }
      failed = false;
    } catch (error) {
      waiting = [...rows.flat(), ...waiting];
      failed = true;
      throw error;
    } finally {
      leaving = [];
    }
  }

  /** Returns the age of the oldest event that is not on disk, in milliseconds; 0 without one. */
  function lag(): number {
    const [oldest] = leaving.length > 0 ? leaving : waiting;
    return oldest === undefined ? 0 : Math.max(0, clock.now() - oldest.at);
  }

  return { level, draft, draftAuthority, record, settle: writeWaiting, flush, lag };
}

/** Divides events into rows, each with a limited number of events and of named records. */
function rowsOf(events: readonly TimedEvent[]): readonly (readonly TimedEvent[])[] {
  const rows: TimedEvent[][] = [];
  let row: TimedEvent[] = [];
  let named = 0;
  for (const one of events) {
    named += one.event.entities.length;
    if (row.length === 0 || row.length === MAX_WAITING || named > MAX_NAMED) {
      row = [];
      rows.push(row);
      named = one.event.entities.length;
    }
    row.push(one);
  }
  return rows;
}

const WINDOW_MS = 60_000;
/** The maximum number of denials of one application that get their own entries in a window. */
const MAX_SINGLE = 100;

/** The denials of one application since the window began. */
interface Refused {
  total: number;
  /** Denials beyond the single entries, by action, status and API key. */
  readonly counted: Map<string, AuditEvent>;
}

/**
 * Creates a counter of denials, so that a caller cannot fill the disk with entries. The first denial starts a window of
 * a minute. The counter calls `onEnd` after the window; `onEnd` must call `end`.
 */
function createDenialWindow(onEnd: () => void) {
  const applications = new Map<string, Refused>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  return {
    /** Counts a denial. Returns false when the denial needs its own entry. */
    absorb(event: AuditEvent, now: Instant): boolean {
      const { action, status, application_id = '', actor_name, api_key_id, tenant_id } = event;
      timer ??= setTimeout(onEnd, WINDOW_MS).unref();
      const refused = applications.get(application_id) ?? { total: 0, counted: new Map() };
      applications.set(application_id, refused);
      refused.total += 1;
      if (refused.total <= MAX_SINGLE) return false;
      const kind = `${action} ${status} ${api_key_id}`;
      const { count, first_at } = refused.counted.get(kind)?.counted ?? { count: 0, first_at: now };
      const counted = { count: count + 1, first_at, last_at: now };
      const caller = { application_id, actor_name, api_key_id, tenant_id };
      refused.counted.set(kind, { action, status, ...caller, entities: [], counted });
      return true;
    },

    /** Ends the window. Returns an event for each kind of counted denial. */
    end(): readonly AuditEvent[] {
      clearTimeout(timer);
      timer = undefined;
      const events = [...applications.values()].flatMap(({ counted }) => [...counted.values()]);
      applications.clear();
      return events;
    },
  };
}
