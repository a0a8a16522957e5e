import { useRef } from 'preact/hooks';
import { useApplications } from '../applications.ts';
import { Button } from '../parts/controls.tsx';
import { counted, wholeNumber } from '../parts/numbers.ts';
import { Time, Wrong } from '../parts/pieces.tsx';
import { Turner } from '../parts/turner.tsx';
import { address, FIRST_PAGE, go, here, route } from '../route.ts';
import { EntryPane } from './entry-pane.tsx';
import { useLiveLog } from './live-log.ts';
import { eventsOf, isFiltered, type LogEvent, logQuery } from './log-entries.ts';
import { LogFilters } from './log-filters.tsx';
import { LogRows } from './log-rows.tsx';

/** Shows the log of the tenant. */
export function AuditLog() {
  const { start, at = '0', entry, live, entity, actor, operation, denied, since, until } = route.value.query;
  const filter = { entity, actor, operation, denied, since, until };
  const applications = useApplications().value ?? [];
  const names = new Map(applications.map(({ id, name }) => [id, name]));
  const element = useRef<HTMLDivElement>(null);
  const opened = useRef<LogEvent>();
  const scroller = () => element.current?.querySelector('.scroller');
  const isAtTop = () => start === undefined && scrollY === 0 && (scroller()?.scrollTop ?? 0) === 0;
  const log = useLiveLog(filter, start, live !== 'off', isAtTop);
  const { value: page, fresh, isLoading } = log;
  const entries = [...fresh.entries, ...(page?.entries ?? [])];
  const events = eventsOf(entries);
  // Keep the open entry: it may leave the page when new entries arrive.
  opened.current = events.find(({ position }) => position === entry) ?? opened.current;

  function showHeld() {
    scroller()?.scrollTo(0, 0);
    scrollTo(0, 0);
    log.renew();
    if (start !== undefined) go(here(FIRST_PAGE));
  }

  return (
    <>
      <div class="list" ref={element}>
        <LogFilters filter={filter} names={names} />
        <Wrong>{log.error}</Wrong>
        <Wrong>{fresh.error && `Live: ${fresh.error}`}</Wrong>
        <span class="held" role="status">
          {fresh.held > 0 && (
            <Button class="main" onClick={showHeld}>
              ↑ {wholeNumber(fresh.held)} new
            </Button>
          )}
        </span>
        {page !== undefined && events.length === 0 && page.searchedTo === undefined && (
          <div class="empty">
            {isFiltered(filter) ? (
              <>
                <p>No entry matches the filter. Lists and masked reads leave no entry by default.</p>
                <a class="button" href={address('audit', { live })}>
                  Show all entries
                </a>
              </>
            ) : (
              <p>The log has no entries yet. Creating a token makes the first one.</p>
            )}
          </div>
        )}
        <LogRows {...{ events, names, isLoading }} open={entry}>
          {page?.searchedTo !== undefined && (
            <p class="searched soft">
              searched back to <Time at={page.searchedTo} />{' '}
              <a href={here({ ...FIRST_PAGE, start: page.next, at: String(Number(at) + entries.length) })}>further</a>
            </p>
          )}
        </LogRows>
        <Turner
          isLoading={isLoading}
          next={page?.next}
          shown={entries.length}
          note={` entries in ${counted(events.length, 'call')}`}
          command={{
            operation: 'listLogs',
            query: logQuery(filter),
            ...(live !== 'off' && { more: '--follow' }),
          }}
        />
      </div>
      {entry !== undefined && opened.current?.position === entry && <EntryPane event={opened.current} names={names} />}
    </>
  );
}
