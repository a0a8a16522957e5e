import { AsCommand } from '../parts/as-command.tsx';
import { JsonView } from '../parts/json.tsx';
import { counted } from '../parts/numbers.ts';
import { Pane } from '../parts/pane.tsx';
import { Facts, When } from '../parts/pieces.tsx';
import { address, here } from '../route.ts';
import type { LogEvent, LogFilter } from './log-entries.ts';
import { Actor, Result } from './log-rows.tsx';

interface EntryPaneOptions {
  readonly event: LogEvent;
  /** The names of applications, by id. */
  readonly names: ReadonlyMap<string, string>;
}

/** Shows a call: its caller, its result, and links to its records. */
export function EntryPane({ event, names }: EntryPaneOptions) {
  const { position, entities, entity_type: type, actor_id: actor, operation, message, created_at, ...rest } = event;
  const { id: _first, entity_id: _one, ...more } = rest;
  const [entity] = entities;
  const kind = type.replaceAll('_', ' ');
  const facts = {
    Time: <When at={created_at} />,
    Actor: (
      <>
        {actor !== undefined && names.has(actor) ? (
          <a href={address('applications', { app: actor })}>
            <Actor of={event} names={names} />
          </a>
        ) : (
          <>
            {actor !== undefined && event.actor_name} <code>{actor ?? 'the vault, or the operator of its file'}</code>
          </>
        )}
        {actor !== undefined && <Only filter={{ actor }} of="this actor" />}
      </>
    ),
    Operation: (
      <>
        <code>{operation}</code>
        <Only filter={{ operation }} of="this operation" />
      </>
    ),
    Result: <Result of={event} />,
    [entities.length > 1 ? counted(entities.length, kind) : kind]: (
      <>
        {entity === undefined && 'none'}
        {entities.map((id) => (
          <div key={id}>
            <Entity id={id} type={type} />
            <Only filter={{ entity: id }} of="this entity" />
          </div>
        ))}
      </>
    ),
  };
  return (
    <Pane
      title={message.replace(/\.$/, '')}
      subject={position}
      closed={here({ entry: undefined })}
      actions={entity !== undefined && <AsCommand of={{ operation: 'listLogs', query: { entity_id: entity } }} />}
    >
      <Facts of={facts} />
      <JsonView
        text={JSON.stringify({ id: position, operation, actor_id: actor, entity_type: type, ...more, created_at })}
      />
    </Pane>
  );
}

const SCREENS: Readonly<Record<string, (id: string) => string>> = {
  token: (id) => address('tokens', { token: id }),
  application: (id) => address('applications', { app: id }),
};

function Entity({ id, type }: { readonly id: string; readonly type: string }) {
  const to = SCREENS[type]?.(id);
  return to === undefined ? (
    <code>{id}</code>
  ) : (
    <a href={to}>
      <code>{id}</code>
    </a>
  );
}

/** Shows a link to the entries with the same value. */
function Only({ filter, of }: { readonly filter: LogFilter; readonly of: string }) {
  return (
    <>
      {' '}
      <a class="only" href={address('audit', { ...filter })}>
        only {of}
      </a>
    </>
  );
}
