import type { Application } from '../../../client/create-client.ts';
import { useApplications } from '../applications.ts';
import type { Loaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { Button, KeyButton } from '../parts/controls.tsx';
import { FilterBar } from '../parts/filter-bar.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { briefTime, Tags, Wrong } from '../parts/pieces.tsx';
import { Rows, timeColumn } from '../parts/rows.tsx';
import { go, here, route } from '../route.ts';
import { isHeld } from '../session.ts';
import { ApplicationForm } from './application-form.tsx';
import { ApplicationPane } from './application-pane.tsx';

/** Shows the list of applications and beside it the open one, or a form instead of the list. */
export function Applications() {
  const loaded = useApplications();
  const { value } = loaded;
  const { app, draft } = route.value.query;
  const all = value ?? [];
  const open = all.find(({ id }) => id === app);
  if (value !== undefined && draft === 'new') return <ApplicationForm all={all} />;
  if (open !== undefined && draft === 'edit') return <ApplicationForm all={all} of={open} />;
  return (
    <>
      <ApplicationList of={loaded} />
      {open !== undefined && <ApplicationPane application={open} all={all} />}
    </>
  );
}

function ApplicationList({ of: { value, error } }: { readonly of: Loaded<readonly Application[]> }) {
  const { q = '', app } = route.value.query;
  const all = value ?? [];
  const shown = all.filter(({ name, id }) => `${name} ${id}`.toLowerCase().includes(q.toLowerCase()));
  const mayCreate = isHeld('application:create');
  const create = () => go(here({ draft: 'new' }));
  return (
    <div class="list">
      <header>
        <h1>Applications</h1>
        <FilterBar text={q} hint="name or id" apply={(typed) => here({ q: typed })} />
        {mayCreate && <KeyButton name="New" shortcut="n" act={create} />}
      </header>
      <Wrong>{error}</Wrong>
      {value !== undefined && shown.length === 0 && (
        <div class="empty">
          <p>{all.length === 0 ? 'There are no applications yet.' : 'No application has this name or id.'}</p>
          <p class="buttons">
            {q !== '' && (
              <a class="button" href={here({ q: undefined })}>
                Show all applications
              </a>
            )}
            {mayCreate && (
              <Button class="main" onClick={create}>
                New application
              </Button>
            )}
          </p>
        </div>
      )}
      <Rows
        caption="Applications, newest first"
        rows={shown}
        idOf={({ id }) => id}
        hrefOf={({ id }) => here({ app: id })}
        open={app}
        columns={[
          { head: 'Name', show: ({ name }) => name, titleOf: ({ name }) => name },
          { head: 'Type', show: (application) => <TypeOf of={application} />, size: 'medium' },
          {
            head: 'Rules',
            show: ({ rules }) => (rules.length === 0 ? '–' : rules.length),
            size: 'short',
            rank: 'extra',
          },
          { head: 'Plain permissions', show: ({ permissions }) => <Tags of={permissions} />, rank: 'less' },
          timeColumn('Created', ({ created_at }: Application) => created_at, 'extra'),
        ]}
      />
      <footer>
        <span role="status">{value !== undefined && `${wholeNumber(shown.length)} of ${wholeNumber(all.length)}`}</span>
        <AsCommand of={{ operation: 'listApplications', more: '--all' }} />
      </footer>
    </div>
  );
}

function TypeOf({ of: { type, expires_at } }: { readonly of: Application }) {
  return (
    <>
      {type}
      {expires_at !== undefined && <span class="ends">ends {briefTime(expires_at)}</span>}
    </>
  );
}
