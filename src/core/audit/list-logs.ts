import type { QueryOf } from '../../contract/operations.ts';
import { PAGE_QUERY } from '../../contract/page.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import { didYouMean } from '../nearest-name.ts';
import type { Instant } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { formatInstant, isExpired, parseInstant } from '../time.ts';
import { runningTime } from '../timers.ts';
import { AUDITED_ACTIONS } from './audit-event.ts';
import { type LogPosition, logCursor, parseLogCursor, parseLogId } from './log-position.ts';
import type { AuditReads } from './ports.ts';
import { type FoundLog, type LogSelection, searchLog } from './search-log.ts';

/** The number of the last entry of the last page that has a number. */
const MAX_PAGED = 10_000;

/** Lists the audit log of the tenant (search-and-batches.md §7). */
export const listLogs: Handler<'listLogs'> = async ({ query }, caller, context) => {
  const { wait = 0 } = query;
  const question = { ...logFiltersOf(query), tenant_id: caller.tenant.record.id };
  // Write the waiting events, so that the list includes the latest reads. A vault that accepts no writes still answers.
  await context.audit.settle().catch(() => undefined);
  const { account, tenant, work } = caller;
  const watching = { account, tenant_id: tenant.record.id, isAbandoned: work.isAbandoned };
  const found = await untilFound(question.after, wait * 1000, {
    store: context.store,
    search: (after) => searchLog(context, { ...question, after }, () => work.next()),
    async changed(sequence, ms) {
      const isEnded = await context.logWatch.changed(sequence, ms, watching);
      work.endIfAbandoned();
      return (await isUnchanged(caller, context)) && !isEnded;
    },
  });
  return logPage(question.size, found);
};

/** Returns the filters of a query. Throws `invalid_request`. */
export function logFiltersOf(query: QueryOf<'listLogs'>): LogSelection & { readonly size: number } {
  const { page, size = PAGE_QUERY.size.default, start, after, start_date, end_date, operation } = query;
  if (query.wait !== undefined && after === undefined) throw invalid('wait', 'requires after');
  if (page !== undefined) requirePage(page, size, { start, after });
  if (operation !== undefined && !AUDITED_ACTIONS.some((known) => known === operation)) {
    throw invalid('operation', `is not an operation${didYouMean(operation, AUDITED_ACTIONS)}`);
  }
  const start_at = start_date === undefined ? undefined : readDate('start_date', start_date);
  const end_at = end_date === undefined ? undefined : readDate('end_date', end_date);
  if (start_at !== undefined && end_at !== undefined && end_at < start_at) {
    throw invalid('end_date', 'must not be before the start of the range');
  }
  const { entity_type, entity_id, actor_id, denied } = query;
  return {
    entity_type,
    entity_id,
    actor_id: actor_id?.toLowerCase(),
    operation,
    denied,
    start_at,
    end_at,
    before: start === undefined ? undefined : parseLogCursor(start),
    after: after === undefined ? undefined : parseLogId(after),
    size,
    skip: page === undefined ? 0 : page - 1,
  };
}

/** Returns the page of found entries. */
export function logPage<Entry>(size: number, { entries, next, searched_to }: FoundLog<Entry>) {
  return {
    pagination: {
      page_size: size,
      ...(next !== undefined && { next: logCursor(next) }),
      ...(searched_to !== undefined && { searched_to: formatInstant(searched_to) }),
    },
    data: entries,
  };
}

/** Throws `invalid_request` for a page by number that is also given by another parameter, or that lies too far back. */
function requirePage(page: number, size: number, others: Readonly<Record<string, unknown>>): void {
  const other = Object.keys(others).find((name) => others[name] !== undefined);
  if (other !== undefined) throw invalid('page', `cannot be given with ${other}`);
  if (page * size <= MAX_PAGED) return;
  throw invalid('page', `times size must be at most ${MAX_PAGED}; use start for older entries`);
}

interface Search<Found> {
  readonly store: Pick<AuditReads, 'auditHead'>;
  readonly search: (after: LogPosition | undefined) => Promise<Found>;
  /** Waits for rows after `sequence`. Resolves to whether to search again. */
  readonly changed: (sequence: number, ms: number) => Promise<boolean>;
}

/**
 * Searches the log, and again whenever the audit has grown, until it finds an entry or `ms` milliseconds have passed.
 */
export async function untilFound<Found extends Pick<FoundLog<unknown>, 'entries' | 'next'>>(
  start: LogPosition | undefined,
  ms: number,
  { store, search, changed }: Search<Found>,
): Promise<Found> {
  const deadline = runningTime() + ms;
  let after = start;
  for (;;) {
    // Read the end first. If this search finds nothing, the next search starts after this end.
    const { sequence } = await store.auditHead();
    const found = await search(after);
    const remaining = deadline - runningTime();
    if (found.entries.length > 0 || found.next !== undefined || remaining <= 0) return found;
    if (!(await changed(sequence, remaining))) return found;
    if (after === undefined || after[0] <= sequence) after = [sequence + 1, 0, 0];
  }
}

/**
 * Resolves to whether the calling application is the same as before the wait. Rejects with `write_conflict` if its key
 * has ended: the repeated call then fails. Other changes only end the wait, because a repeated call would wait again.
 */
async function isUnchanged({ application: { record }, key }: Caller, { store, clock }: Context): Promise<boolean> {
  const now = await store.findApplication(record.tenant_id, record.id, clock.cutoff());
  const live = await store.findApplicationKey(record.tenant_id, key.id);
  if (now === undefined || live === undefined || isExpired(live, clock.cutoff())) throw new Problem('write_conflict');
  return now.revision === record.revision;
}

/** Returns the instant of a query parameter. Reads a date-time without an offset as UTC. */
function readDate(name: string, text: string): Instant {
  const isLocal = /T[^Z+-]*$/i.test(text);
  const instant = parseInstant(isLocal ? `${text}Z` : text);
  if (Number.isNaN(instant)) throw invalid(name, 'must be an ISO 8601 date or date-time');
  return instant;
}
