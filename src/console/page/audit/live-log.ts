import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { repeat } from '../parts/repeat.ts';
import { PAGE_SIZE } from '../parts/turner.tsx';
import { vault } from '../vault.ts';
import { isFiltered, type LogFilter, type LogRow, logQuery } from './log-entries.ts';

/** The maximum number of new entries in one request and above the page. */
const MAX_NEW = 100;
/** How long a call waits for new entries, in seconds. */
const WAIT = 20;
const PAUSES = { pauseMs: 100, retryMs: 2_000 };

interface LogPage {
  /** The entries, newest first. */
  readonly entries: readonly LogRow[];
  /** The cursor of the page of older entries. */
  readonly next: string | undefined;
  /** The time of the oldest entry that was searched, if the search stopped early. */
  readonly searchedTo: string | undefined;
  /** The id of the newest entry of the page. Later entries are new. */
  readonly after: string;
}

interface Fresh {
  readonly page?: LogPage | undefined;
  readonly entries: readonly LogRow[];
  /** The number of new entries that are not shown, because the list is scrolled. */
  readonly held: number;
  readonly error?: string | undefined;
}

const NONE: Fresh = { entries: [], held: 0 };

/**
 * Loads a page of the log and follows newer entries. `isAtTop` returns whether new entries may be shown at once. `renew`
 * loads the page again.
 */
export function useLiveLog(filter: LogFilter, start: string | undefined, isLive: boolean, isAtTop: () => boolean) {
  const [round, setRound] = useState(0);
  const renew = () => setRound((last) => last + 1);
  const loaded = useLoaded(JSON.stringify([filter, start, round]), (signal) => askLog(filter, start, signal));
  const { value: page, isLoading } = loaded;
  const [all, setFresh] = useState(NONE);
  const fresh = all.page === page ? all : NONE;

  useEffect(() => {
    if (!isLive || page === undefined || isLoading) return;
    const stop = new AbortController();
    let known = fresh;
    const show = (next: Partial<Fresh>) => {
      known = { ...known, error: undefined, ...next, page };
      setFresh(known);
    };
    let last = known.entries[0]?.id ?? page.after;
    async function follow(): Promise<void> {
      await untilVisible();
      // Continue after the newest entry even when no entry matches the filter.
      const newest = isFiltered(filter) ? await askNewest(stop.signal) : undefined;
      const query = { ...logQuery(filter), after: last, wait: WAIT, size: MAX_NEW };
      const { data, pagination } = await vault.listLogs({ query, signal: stop.signal });
      if (stop.signal.aborted) return;
      last = data[0]?.id ?? newest ?? last;
      if (data.length === 0) return;
      const isMany = pagination.next !== undefined || known.entries.length + data.length > MAX_NEW;
      if (known.held > 0 || !isAtTop()) show({ held: known.held + data.length });
      else if (isMany) renew();
      else show({ entries: [...data, ...known.entries] });
    }
    void repeat(stop.signal, PAUSES, follow, (error) => show({ error }));
    return () => stop.abort();
  }, [isLive, page, isLoading]);

  return { ...loaded, fresh, renew };
}

async function askLog(filter: LogFilter, start: string | undefined, signal: AbortSignal): Promise<LogPage> {
  // An entry written between the two requests is found twice and shown once.
  const newest = isFiltered(filter) || start !== undefined ? await askNewest(signal) : undefined;
  const query = { ...logQuery(filter), size: PAGE_SIZE, ...(start !== undefined && { start }) };
  const { data, pagination } = await vault.listLogs({ query, signal });
  const { next, searched_to: searchedTo } = pagination;
  return { entries: data, next, searchedTo, after: newest ?? data[0]?.id ?? '0.0' };
}

async function askNewest(signal: AbortSignal): Promise<string | undefined> {
  const { data } = await vault.listLogs({ query: { size: 1 }, signal });
  return data[0]?.id;
}

/** Waits until the tab is visible: a browser limits the connections of all tabs together. */
function untilVisible(): Promise<unknown> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => addEventListener('visibilitychange', resolve, { once: true }));
}
