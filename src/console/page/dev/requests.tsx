import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { DevRequestEntry } from '../../../contract/dev-paths.ts';
import { useApplications } from '../applications.ts';
import { Button } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { repeat } from '../parts/repeat.ts';
import { Rows, timeColumn } from '../parts/rows.tsx';
import { address, route } from '../route.ts';
import { ask } from '../session.ts';

const MAX_SHOWN = 500;
/** How long the daemon waits for a new request, in seconds. */
const WAIT = 20;
/** Under load, a poll returns at once. */
const PAUSES = { pauseMs: 500, retryMs: 3_000 };

/** The requests, newest first. The list is kept while other screens are shown. */
export const requests = signal<readonly DevRequestEntry[]>([]);

/** Follows the requests of the daemon while the component is mounted and `isLive`. Returns an error message, if any. */
function useRequests(isLive: boolean): string | undefined {
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!isLive) return;
    const stop = new AbortController();
    // Do not wait in the first poll, so that an empty list is shown at once.
    let wait = 0;
    async function follow(): Promise<void> {
      const path = `dev/requests?after=${requests.peek()[0]?.id ?? 0}&wait=${wait}`;
      wait = WAIT;
      const { data } = await ask<{ readonly data: readonly DevRequestEntry[] }>(path, stop);
      if (stop.signal.aborted) return;
      if (data.length > 0) requests.value = [...data, ...requests.peek()].slice(0, MAX_SHOWN);
      setError(undefined);
    }
    void repeat(stop.signal, PAUSES, follow, setError);
    return () => stop.abort();
  }, [isLive]);
  return error;
}

/** Shows the last requests of the daemon, newest first. */
export function Requests() {
  const [isLive, setLive] = useState(true);
  const error = useRequests(isLive);
  const applications = useApplications();
  return (
    <>
      <header class="requests">
        <h2>Requests</h2>
        <Button aria-pressed={isLive} onClick={() => setLive(!isLive)}>
          Live
        </Button>
      </header>
      <Wrong>{error}</Wrong>
      {requests.value.length === 0 && <p class="empty">No requests yet. Requests of this page are not listed.</p>}
      <Rows
        caption="Requests, newest first"
        rows={requests.value}
        idOf={({ id }) => String(id)}
        hrefOf={({ id }) => address('dev', { request: String(id) })}
        open={route.value.query['request']}
        columns={[
          { head: 'Request', show: ({ method, route: path }) => <code>{[method, path ?? '?'].join(' ')}</code> },
          {
            head: 'Status',
            show: ({ status }) => <b class={`status s${Math.floor(status / 100)}`}>{status}</b>,
            size: 'short',
          },
          { head: 'ms', show: ({ ms }) => ms?.toFixed(1), size: 'short', rank: 'less' },
          {
            head: 'Application',
            show: ({ application_id: id }) => applications.value?.find((each) => each.id === id)?.name ?? id,
            rank: 'extra',
          },
          { head: 'Problem', show: ({ problem, members }) => problemText(problem, members), rank: 'extra' },
          timeColumn('Time', ({ time }: DevRequestEntry) => time, 'less'),
        ]}
      />
    </>
  );
}

function problemText(problem: string | undefined, members: readonly string[] = []): string {
  return [problem, members.join(', ')].filter(Boolean).join(': ');
}
