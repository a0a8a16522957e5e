import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import type { DevRequestEntry } from '../../../contract/dev-paths.ts';
import { useApplications } from '../applications.ts';
import { messageOf } from '../loaded.ts';
import { Button } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { Rows, timeColumn } from '../parts/rows.tsx';
import { address, route } from '../route.ts';
import { ask } from '../session.ts';

const MAX_SHOWN = 500;
/** How long the daemon waits for a new request, in seconds. */
const WAIT = 20;
/** The pause between two polls, in milliseconds. Under load, a poll returns at once. */
const PAUSE_MS = 500;
/** The pause after a failed poll, in milliseconds. */
const RETRY_MS = 3_000;

/** The requests, newest first. The list is kept while other screens are shown. */
export const requests = signal<readonly DevRequestEntry[]>([]);

/** Follows the requests of the daemon while the component is mounted and `isLive`. Returns an error message, if any. */
function useRequests(isLive: boolean): string | undefined {
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!isLive) return;
    const controller = new AbortController();
    void follow(controller.signal, setError);
    return () => controller.abort();
  }, [isLive]);
  return error;
}

async function follow(signal: AbortSignal, setError: (error: string | undefined) => void): Promise<void> {
  // Do not wait in the first poll, so that an empty list is shown at once.
  for (let wait = 0; !signal.aborted; wait = WAIT) {
    const after = requests.peek()[0]?.id ?? 0;
    let pause = PAUSE_MS;
    try {
      const path = `dev/requests?after=${after}&wait=${wait}`;
      const { data } = await ask<{ readonly data: readonly DevRequestEntry[] }>(path, { signal });
      if (signal.aborted) return;
      if (data.length > 0) requests.value = [...data, ...requests.peek()].slice(0, MAX_SHOWN);
      setError(undefined);
    } catch (wrong) {
      if (signal.aborted) return;
      setError(messageOf(wrong));
      pause = RETRY_MS;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
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
