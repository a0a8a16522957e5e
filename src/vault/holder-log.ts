import type { Call, Client } from '../contract/call.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { openApplication } from '../core/applications/application-codec.ts';
import { logFiltersOf, logPage, untilFound } from '../core/audit/list-logs.ts';
import { type VaultLogEntry, vaultLogEntriesOf } from '../core/audit/log-entries.ts';
import { parseLogId } from '../core/audit/log-position.ts';
import { createLogWatch } from '../core/audit/log-watch.ts';
import { type FoundLog, type LogSelection, SLACK_MS, wantedOf } from '../core/audit/search-log.ts';
import type { PositionedEvent } from '../core/audit/walk-audit.ts';
import { stringifyJson } from '../core/json/stringify.ts';
import { Problem, problemReply } from '../core/problem.ts';
import { validate } from '../core/request/validate.ts';
import type { ArchiveFile } from '../history/audit-archive.ts';
import { lastEntries } from '../history/read-entries.ts';
import { compareWithAnchor } from './keep-anchor.ts';
import { type KeyHolderOptions, type OpenedKeyHolder, openForKeyHolder } from './key-holder.ts';
import { eachTenant, tenantIds } from './tenants/each-tenant.ts';
import { findSoundTenant } from './tenants/find-sound-tenant.ts';

/** The size of a page that reads archives to their end. Each page reads all archives again. */
const WHOLE_PAGE = 100_000;
/** The number of applications in one read. */
const PAGE = 100;

/** The part of the log that the key holder reads. */
interface HolderView {
  /** The id or the name of the only tenant to show. Default: all tenants, and what concerns the whole vault. */
  readonly tenant?: string | undefined;
  /** The archives of all pruned entries, to read, too. */
  readonly archives: readonly ArchiveFile[];
  /** A file that shows whether the vault is an older copy. */
  readonly anchor?: string | undefined;
  /** Whether the caller reads all pages. */
  readonly readsAll: boolean;
}

/**
 * Opens the log of a vault for the holder of its key: a client that answers `listLogs`, and `listApplications` with the
 * ids and names of all applications of the shown tenants. It needs no API key. Rejects as `openForKeyHolder` and
 * `tenantIds` do, and with the fault `damaged` for a vault behind its anchor; a call rejects as `lastEntries` does.
 */
export async function openHolderLog(options: KeyHolderOptions, view: HolderView): Promise<Client> {
  const opened = await openForKeyHolder(options);
  try {
    if (view.anchor !== undefined) await compareWithAnchor(opened, view.anchor);
    const [tenant] = view.tenant === undefined ? [] : await tenantIds(opened, view.tenant);
    return {
      async call(call) {
        try {
          const listed =
            call.operation === 'listApplications'
              ? await listNames(opened, tenant)
              : await listEntries(opened, { ...view, tenant }, call);
          return { status: 200, bodyText: stringifyJson(listed), traceId: '' };
        } catch (error) {
          if (error instanceof Problem) return problemReply(error, '');
          throw error;
        }
      },
      close: opened.close,
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function listEntries(opened: OpenedKeyHolder, view: HolderView, call: Call) {
  const { query } = validate('listLogs', OPERATIONS.listLogs, call, undefined, undefined);
  const filters = logFiltersOf(query);
  const { store } = opened;
  const watch = createLogWatch(store);
  const watching = { account: '', tenant_id: '', isAbandoned: () => false };
  const found = await untilFound(filters.after, (query.wait ?? 0) * 1000, {
    store,
    search: (after) => search(opened, view, { ...filters, after }),
    changed: async (sequence, ms) => !(await watch.changed(sequence, ms, watching)),
  });
  return logPage(filters.size, found);
}

/** Resolves to a page of the entries that match, those of the log before those of the archives. */
async function search(
  opened: OpenedKeyHolder,
  { tenant, archives, readsAll }: HolderView,
  filters: LogSelection,
): Promise<FoundLog<VaultLogEntry>> {
  const { before, after, start_at = 0, skip = 0 } = filters;
  const size = readsAll && archives.length > 0 ? WHOLE_PAGE : filters.size;
  const entriesOf = (one: PositionedEvent) =>
    vaultLogEntriesOf(one).filter(({ tenant_id }) => tenant === undefined || tenant_id === tenant);
  const wanted = (one: PositionedEvent) => wantedOf(one, filters, entriesOf);
  const range = { first: after?.[0], last: before?.[0], since: start_at - SLACK_MS };
  // Read one event more, to know whether the page is the last one.
  const limit = (skip + 1) * size + 1;
  const events = await lastEntries(opened, (one) => wanted(one).length > 0, limit, archives, range);
  const entries = events.flatMap(wanted).slice(skip * size);
  const page = entries.slice(0, size);
  const last = page.at(-1);
  return { entries: page, ...(entries.length > size && last !== undefined && { next: parseLogId(last.id) }) };
}

/** Resolves to the applications of a tenant or of all tenants, as one page of a list. */
async function listNames(opened: OpenedKeyHolder, tenant: string | undefined) {
  const { store, clock } = opened;
  const { done } = await eachTenant(opened, tenant, async (tenant_id) => {
    const found = await findSoundTenant(opened, tenant_id);
    if (found === undefined) return [];
    const named: { readonly id: string; readonly name: string }[] = [];
    for (let total = 1; named.length < total; ) {
      const page = await store.findApplications({ tenant_id }, { offset: named.length, limit: PAGE }, clock.cutoff());
      for (const one of page.records) {
        named.push({ id: one.id, name: openApplication(found.keyring, one.id, one).details.name });
      }
      total = page.records.length === 0 ? 0 : page.total;
    }
    return named;
  });
  return { pagination: { total_pages: 1 }, data: done.flat() };
}
