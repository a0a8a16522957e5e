import type { Instant } from '../ports.ts';
import { clearTimeout, setTimeout } from '../timers.ts';
import type { AuditEvent } from './audit-event.ts';

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
export function createDenialWindow(onEnd: () => void) {
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
