import { useEffect, useState } from 'preact/hooks';
import { type Loaded, messageOf, useLoaded } from '../loaded.ts';
import { PAGE_SIZE } from '../parts/turner.tsx';
import { vault } from '../vault.ts';
import { isFiltered, type LogFilter, type LogRow, logQuery } from './log-entries.ts';

/** The maximum number of new entries in one request and above the page. */
const MAX_NEW = 100;
/** How long a call waits for new entries, in seconds. */
const WAIT = 20;
/** The pause between two calls, and after a failed call, in milliseconds. */
const PAUSE_MS = 100;
const RETRY_MS = 2_000;

export interface LogPage {
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

export interface LiveLog extends Loaded<LogPage> {
  readonly fresh: Omit<Fresh, 'page'>;
  /** Loads the page again. */
  readonly renew: () => void;
}

const NONE: Fresh = { entries: [], held: 0 };

/** Loads a page of the log and follows newer entries. `isAtTop` returns whether new entries may be shown at once. */
export function useLiveLog(
  filter: LogFilter,
  start: string | undefined,
  isLive: boolean,
  isAtTop: () => boolean,
): LiveLog {
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
    void follow(filter, known.entries[0]?.id ?? page.after, stop.signal, {
      found(entries, isCut) {
        if (known.held > 0 || !isAtTop()) show({ held: known.held + entries.length });
        else if (isCut || known.entries.length + entries.length > MAX_NEW) renew();
        else show({ entries: [...entries, ...known.entries] });
      },
      failed: (error) => show({ error: messageOf(error) }),
    });
    return () => stop.abort();
  }, [isLive, page, isLoading]);

  return { ...loaded, fresh, renew };
}

async function askLog(filter: LogFilter, start: string | undefined, signal: AbortSignal): Promise<LogPage> {
  // An entry written between the two requests is found twice and shown once.
  const newest = isFiltered(filter) || start !== undefined ? await askNewest(signal) : undefined;
  const query = { ...logQuery(filter), size: PAGE_SIZE, ...(start !== undefined && { start }) };
  const { data, pagination } = await vault().listLogs({ query, signal });
  const { next, searched_to: searchedTo } = pagination;
  return { entries: data, next, searchedTo, after: newest ?? data[0]?.id ?? '0.0' };
}

async function askNewest(signal: AbortSignal): Promise<string | undefined> {
  const { data } = await vault().listLogs({ query: { size: 1 }, signal });
  return data[0]?.id;
}

interface Follower {
  /** Receives new entries. `isCut` is true if there are more new entries, which are older than these. */
  readonly found: (entries: readonly LogRow[], isCut: boolean) => void;
  readonly failed: (error: unknown) => void;
}

/** Waits for entries newer than `after` in a loop. */
async function follow(filter: LogFilter, after: string, stop: AbortSignal, { found, failed }: Follower): Promise<void> {
  let last = after;
  while (!stop.aborted) {
    try {
      await untilVisible();
      // Continue after the newest entry even when no entry matches the filter.
      const newest = isFiltered(filter) ? await askNewest(stop) : undefined;
      const query = { ...logQuery(filter), after: last, wait: WAIT, size: MAX_NEW };
      const { data, pagination } = await vault().listLogs({ query, signal: stop });
      if (stop.aborted) return;
      if (data.length > 0) found(data, pagination.next !== undefined);
      last = data[0]?.id ?? newest ?? last;
      await pause(PAUSE_MS);
    } catch (error) {
      if (stop.aborted) return;
      failed(error);
      await pause(RETRY_MS);
    }
  }
}

/** Waits until the tab is visible: a browser limits the connections of all tabs together. */
function untilVisible(): Promise<unknown> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => addEventListener('visibilitychange', resolve, { once: true }));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
