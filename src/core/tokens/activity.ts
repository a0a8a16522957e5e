import type { ApplicationKeyRecord } from '../application-ports.ts';
import type { Instant, PresentedToken, Store } from '../ports.ts';
import { type Clock, DAY_MS } from '../time.ts';
import { clearTimeout, MachineDate, setTimeout } from '../timers.ts';

/** Returns a calendar month (UTC) as a number: year × 12 + month from 0. */
export function monthOf(instant: Instant): number {
  const date = new MachineDate(instant);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The members of a used token that activity needs. */
export type UsedToken = Pick<PresentedToken, 'tenant_id' | 'id' | 'active_month'>;

/**
 * The recorder of the tokens that were used this month (§2.8) and of the API keys that were used today. It writes a
 * little later, so no read waits.
 */
export type Activity = ReturnType<typeof createActivity>;

/** The method of the store that writes the activity of a kind of records. */
type Write = 'markActive' | 'markKeysUsed';

interface Group {
  readonly write: Write;
  readonly tenantId: string;
  /** A month or a day. */
  readonly period: number;
  readonly ids: Set<string>;
}

const DELAY_MS = 250;
/** The maximum number of API keys whose recorded use is remembered. */
const MAX_KEYS = 10_000;

/** Creates the recorder. A failed write never fails a read; the next flush repeats it. */
export function createActivity(store: Store, clock: Clock) {
  let pending = new Map<string, Group>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The day for which the use of a key is recorded, by id. The records of cached identities are older. */
  const usedOn = new Map<string, number>();

  /** Records that a caller received these tokens. */
  function note(records: readonly UsedToken[]): void {
    const month = monthOf(clock.now());
    for (const { tenant_id, id, active_month } of records) {
      if (active_month < month) add('markActive', tenant_id, month, [id]);
    }
    if (pending.size > 0) writeSoon();
  }

  /** Records that a call used an API key. */
  function noteKey({ tenant_id, id, created_at, last_used_day }: ApplicationKeyRecord): void {
    // In days since 1970-01-01 (UTC). The clock may have been set back since the key was created.
    const day = Math.floor(Math.max(clock.now(), created_at) / DAY_MS);
    if (day <= Math.max(last_used_day, usedOn.get(id) ?? 0)) return;
    if (usedOn.size >= MAX_KEYS) usedOn.clear();
    usedOn.set(id, day);
    add('markKeysUsed', tenant_id, day, [id]);
    writeSoon();
  }

  function add(write: Write, tenantId: string, period: number, ids: Iterable<string>): void {
    const name = `${write} ${period} ${tenantId}`;
    const group = pending.get(name) ?? { write, tenantId, period, ids: new Set() };
    pending.set(name, group);
    for (const id of ids) group.ids.add(id);
  }

  function writeSoon(): void {
    timer ??= setTimeout(() => void flush(), DELAY_MS).unref();
  }

  let written = Promise.resolve();

  /** Writes the recorded activity, after any earlier flush: callers need everything written. */
  function flush(): Promise<void> {
    written = written.then(writeAll);
    return written;
  }

  async function writeAll(): Promise<void> {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    const groups = [...pending.values()];
    pending = new Map();
    for (const { write, tenantId, period, ids } of groups) {
      try {
        await store[write](tenantId, [...ids], period);
      } catch {
        add(write, tenantId, period, ids);
      }
    }
  }

  return { note, noteKey, flush };
}
