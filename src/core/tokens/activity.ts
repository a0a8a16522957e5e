import type { Clock } from '../clock.ts';
import type { Instant, PresentedToken, Store } from '../ports.ts';
import { clearTimeout, MachineDate, setTimeout } from '../timers.ts';

/** Returns a calendar month (UTC) as a number: year × 12 + month from 0. */
export function monthOf(instant: Instant): number {
  const date = new MachineDate(instant);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The members of a used token that activity needs. */
export type UsedToken = Pick<PresentedToken, 'tenant_id' | 'id' | 'active_month'>;

/** The recorder of the tokens that were used this month (§2.8). It writes a little later, so no read waits. */
export type Activity = ReturnType<typeof createActivity>;

const DELAY_MS = 250;

/** Creates the recorder. A failed write never fails a read; the next flush repeats it. */
export function createActivity(store: Store, clock: Clock) {
  let pending = new Map<string, { tenantId: string; month: number; ids: Set<string> }>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** Records that a caller received these tokens. */
  function note(records: readonly UsedToken[]): void {
    const month = monthOf(clock.now());
    for (const { tenant_id, id, active_month } of records) {
      if (active_month < month) add(tenant_id, month, [id]);
    }
    if (pending.size > 0 && !timer) timer = setTimeout(() => void flush(), DELAY_MS).unref();
  }

  function add(tenantId: string, month: number, ids: Iterable<string>): void {
    const name = `${month}/${tenantId}`;
    const group = pending.get(name) ?? { tenantId, month, ids: new Set() };
    pending.set(name, group);
    for (const id of ids) group.ids.add(id);
  }

  let written = Promise.resolve();

  /** Writes the recorded activity, after any earlier flush: callers need everything written. */
  function flush(): Promise<void> {
    written = written.then(write);
    return written;
  }

  async function write(): Promise<void> {
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
    const groups = [...pending.values()];
    pending = new Map();
    for (const { tenantId, month, ids } of groups) {
      try {
        await store.markActive(tenantId, [...ids], month);
      } catch {
        add(tenantId, month, ids);
      }
    }
  }

  return { note, flush };
}
