import { PAGE_QUERY } from '../../contract/page.ts';
import type { Caller, Context, Handler } from '../handler.ts';
import { isExpired } from '../is-expired.ts';
import { didYouMean } from '../nearest-name.ts';
import type { Instant } from '../ports.ts';
import { invalid, Problem } from '../problem.ts';
import { runningTime } from '../running-time.ts';
import { formatInstant, parseInstant } from '../time.ts';
import { AUDITED_ACTIONS } from './audit-event.ts';
import { logCursor, parseLogCursor, parseLogId } from './log-position.ts';
import { type FoundLog, type LogQuestion, searchLog } from './search-log.ts';

/** The number of the last entry of the last page that has a number. */
const MAX_PAGED = 10_000;

/** Lists the audit log of the tenant (search-and-batches.md §7). */
export const listLogs: Handler<'listLogs'> = async ({ query }, caller, context) => {
  const { page, size = PAGE_QUERY.size.default, start, after, wait = 0, start_date, end_date, operation } = query;
  if (query.wait !== undefined && after === undefined) throw invalid('wait', 'requires after');
  if (page !== undefined) requirePage(page, size, { start, after });
  if (operation !== undefined && !AUDITED_ACTIONS.some((known) => known === operation)) {
    throw invalid('operation', `is not an operation${didYouMean(operation, AUDITED_ACTIONS)}`);
  }
  const { entity_type, entity_id, actor_id, denied } = query;
  const question: LogQuestion = {
    tenant_id: caller.tenant.record.id,
    entity_type,
    entity_id,
    actor_id: actor_id?.toLowerCase(),
    operation,
    denied,
    start_at: start_date === undefined ? undefined : readDate('start_date', start_date),
    end_at: end_date === undefined ? undefined : readDate('end_date', end_date),
    before: start === undefined ? undefined : parseLogCursor(start),
    after: after === undefined ? undefined : parseLogId(after),
    size,
    skip: page === undefined ? 0 : page - 1,
  };
  // Write the waiting events, so that the list includes the latest reads. A vault that accepts no writes still answers.
  await context.audit.settle().catch(() => undefined);
  const { entries, next, searched_to } = await untilFound(question, wait * 1000, caller, context);
  return {
    pagination: {
      page_size: size,
      ...(next !== undefined && { next: logCursor(next) }),
      ...(searched_to !== undefined && { searched_to: formatInstant(searched_to) }),
    },
    data: entries,
  };
};

/** Throws `invalid_request` for a page by number that is also given by another parameter, or that lies too far back. */
function requirePage(page: number, size: number, others: Readonly<Record<string, unknown>>): void {
  const other = Object.keys(others).find((name) => others[name] !== undefined);
  if (other !== undefined) throw invalid('page', `cannot be given with ${other}`);
  if (page * size <= MAX_PAGED) return;
  throw invalid('page', `times size must be at most ${MAX_PAGED}; use start for older entries`);
}

/**
 * Searches the log, and again whenever the audit has grown, until it finds an entry or `ms` milliseconds have passed.
 */
async function untilFound(question: LogQuestion, ms: number, caller: Caller, context: Context): Promise<FoundLog> {
  const deadline = runningTime() + ms;
  const { account, tenant, work } = caller;
  const watching = { account, tenant_id: tenant.record.id, isAbandoned: work.isAbandoned };
  let { after } = question;
  for (;;) {
    // Read the end first. If this search finds nothing, the next search starts after this end.
    const { sequence } = await context.store.auditHead();
    const found = await searchLog(context, { ...question, after }, () => work.next());
    const remaining = deadline - runningTime();
    if (found.entries.length > 0 || found.next !== undefined || remaining <= 0) return found;
    const isEnded = await context.logWatch.changed(sequence, remaining, watching);
    work.endIfAbandoned();
    if (!(await isUnchanged(caller, context)) || isEnded) return found;
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
