import type { DevRequestEntry } from '../../../contract/dev-paths.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { useApplications } from '../applications.ts';
import type { LogRow } from '../audit/log-entries.ts';
import { useLoaded } from '../loaded.ts';
import { wholeNumber } from '../parts/numbers.ts';
import { Pane } from '../parts/pane.tsx';
import { Facts, Time, Wrong } from '../parts/pieces.tsx';
import { address } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

/** The maximum time between a request and its audit entry, in either direction, in milliseconds. */
const AROUND_MS = 2_000;

/** Shows a request and its audit entry. */
export function RequestPane({ entry }: { readonly entry: DevRequestEntry }) {
  const applications = useApplications();
  const { application_id: app, ms } = entry;
  const facts = {
    Status: entry.status,
    Problem: entry.problem,
    Members: entry.members?.join(', '),
    Application: applications.value?.find((each) => each.id === app)?.name ?? app,
    Time: <Time at={entry.time} />,
    Took: ms === undefined ? undefined : `${ms.toFixed(1)} ms`,
    Reply: `${wholeNumber(entry.bytes)} bytes`,
    'Trace id': <code>{entry.trace_id}</code>,
  };
  return (
    <Pane
      title={<code>{`${entry.method} ${entry.route ?? '?'}`}</code>}
      subject={String(entry.id)}
      closed={address('dev')}
    >
      <Facts class="keys" of={facts} />
      <AuditEntry entry={entry} />
    </Pane>
  );
}

/**
 * Shows the audit entry of a request. Finds it by time and application, because the list of requests contains no token
 * ids.
 */
function AuditEntry({ entry }: { readonly entry: DevRequestEntry }) {
  const { id, method, route, time, status, application_id: app } = entry;
  const [operation] = Object.entries(OPERATIONS).find(([, row]) => row.method === method && row.path === route) ?? [];
  const isKnown = app !== undefined && operation !== undefined && isHeld('log:read');
  const { value, error } = useLoaded(isKnown ? String(id) : undefined, async (signal) => {
    const at = Date.parse(time);
    const isoAt = (ms: number) => new Date(ms).toISOString();
    const around = { start_date: isoAt(at - AROUND_MS), end_date: isoAt(at + AROUND_MS) };
    const { data } = await vault.listLogs({
      query: { actor_id: app ?? '', operation: operation ?? '', ...around },
      signal,
    });
    const away = ({ created_at }: LogRow) => Math.abs(Date.parse(created_at) - at);
    return data.filter((each) => each.status === status).sort((one, other) => away(one) - away(other));
  });
  const [found] = value ?? [];
  const isToken = found?.entity_type === 'token' && found.entity_id !== undefined;
  return (
    <section>
      <h3>Audit</h3>
      <Wrong>{error}</Wrong>
      {!isKnown && <p class="note">{reasonOf(app, operation)}</p>}
      {value?.length === 0 && <p class="note">The audit has no entry for this request.</p>}
      {found !== undefined && (
        <p>
          <a href={auditAddress(found)}>{found.message}</a>{' '}
          {found.entity_id !== undefined && <code>{found.entity_id}</code>}
        </p>
      )}
      {isToken && status === 403 && (
        <p>
          <a href={address('see-as', { app, token: found.entity_id })}>Why was it denied?</a>
        </p>
      )}
    </section>
  );
}

/**
 * Returns the address of the audit screen that shows the entry, with filters for similar calls. The entries of one call
 * share `SEQUENCE.N`.
 */
function auditAddress({ id, entity_id: entity, actor_id: actor, operation }: LogRow): string {
  return address('audit', { entity, actor, operation, entry: id.split('.', 2).join('.') });
}

function reasonOf(app: string | undefined, operation: string | undefined): string {
  if (operation === undefined) return 'The request matched no operation.';
  return app === undefined ? 'The request had no valid API key.' : 'No key of the console holds log:read.';
}
