import { useState } from 'preact/hooks';
import type { DevRequestEntry } from '../../../contract/dev-paths.ts';
import { useApplications } from '../applications.ts';
import { Button } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { Rows, timeColumn } from '../parts/rows.tsx';
import { address, route } from '../route.ts';
import { requests, useRequests } from './live-requests.ts';

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
