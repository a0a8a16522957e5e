import { counted, exactTime } from '../parts/numbers.ts';
import { briefTime, ExactTime } from '../parts/pieces.tsx';
import { Rows } from '../parts/rows.tsx';
import { TokenId } from '../parts/token-id.tsx';
import { here } from '../route.ts';
import type { LogEvent, LogRow } from './log-entries.ts';

interface LogRowsOptions extends Pick<Parameters<typeof Rows>[0], 'open' | 'isLoading' | 'children'> {
  readonly events: readonly LogEvent[];
  readonly names: ReadonlyMap<string, string>;
}

/** Shows one row for each event of the log. */
export function LogRows({ events, names, ...more }: LogRowsOptions) {
  return (
    <Rows
      caption="Entries of the log, newest first"
      rows={events}
      idOf={({ position }) => position}
      hrefOf={({ position }) => here({ entry: position })}
      {...more}
      columns={[
        {
          head: 'Time',
          show: ({ created_at }) => (
            <>
              <ExactTime at={created_at} />
              <span class="brief">{briefTime(created_at).replace(' ago', '')}</span>
            </>
          ),
          titleOf: ({ created_at }) => exactTime(created_at),
          size: 'time',
        },
        { head: 'Age', show: ({ created_at }) => briefTime(created_at), size: 'short', rank: 'less' },
        { head: 'Actor', show: (event) => <Actor of={event} names={names} /> },
        { head: 'Operation', show: ({ operation }) => operation, titleOf: ({ operation }) => operation },
        {
          head: 'Entity',
          show: (event) => <Entities of={event} />,
          titleOf: ({ entities }) => (entities.length === 1 ? entities[0] : undefined),
          rank: 'extra',
        },
        { head: 'Result', show: (event) => <Result of={event} />, size: 'outcome' },
        { head: '#', show: ({ position }) => <code>{position}</code>, size: 'short', rank: 'wide' },
      ]}
    />
  );
}

interface ActorOptions {
  readonly of: LogRow;
  readonly names: ReadonlyMap<string, string>;
}

/** Shows the name of the application, that of the time of the call if it was deleted, or its id. */
export function Actor({ of: { actor_id: id, actor_name: name, actor_type: type }, names }: ActorOptions) {
  if (id === undefined) return <span class="soft">{type}</span>;
  return (
    <span class="name" title={id} dir="auto">
      {names.get(id) ?? name ?? <code>{id.slice(0, 8)}…</code>}
    </span>
  );
}

function Entities({ of: { entities, entity_type: type } }: { readonly of: LogEvent }) {
  const [id] = entities;
  const kind = type.replaceAll('_', ' ');
  if (id === undefined) return <span class="soft">{kind}</span>;
  if (entities.length === 1) {
    return (
      <span class="id code">
        <TokenId id={id} />
      </span>
    );
  }
  return <b>{counted(entities.length, kind)}</b>;
}

/** Shows the status of the reply, and whether it was denied or revealed plaintext. */
export function Result({ of: { status, revealed } }: { readonly of: LogRow }) {
  const isDenied = status === 403 || status === 429;
  return (
    <span class="result">
      <span>{status}</span> {isDenied && <span class="sees denied">denied</span>}
      {revealed && <span class="sees reveal">revealed</span>}
    </span>
  );
}
