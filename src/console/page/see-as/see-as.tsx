import { readersOf, useApplications } from '../applications.ts';
import { Select } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { address, go, route } from '../route.ts';
import { queryAt } from '../tokens/filter.ts';
import { Filtered, TokenFilterBar } from '../tokens/token-filter.tsx';
import { Compare, chosenOf } from './compare.tsx';
import { SeenTokens } from './seen-tokens.tsx';
import { Why } from './why.tsx';

/** Shows the tokens as an application sees them. */
export function SeeAs() {
  const applications = useApplications();
  const { q, find, app, start, at = '0', token } = route.value.query;
  const compared = route.value.query['with'];
  const all = applications.value ?? [];
  const readers = readersOf(all);
  const application = readers.find(({ id }) => id === app) ?? readers[0];
  const others = chosenOf(compared, readers, application);
  const text = queryAt(route.value.query);
  return (
    <>
      <div class="list">
        <header>
          <h1>See as</h1>
          <Select
            aria-label="Application"
            value={application?.id}
            options={readers.map(({ id, name, type }) => [id, `${name} (${type})`] as const)}
            choose={(id) => go(address('see-as', { q, find, start, at, token, with: compared, app: id }))}
          />
          <Compare
            readers={readers.filter(({ id }) => id !== application?.id)}
            chosen={others}
            hrefOf={(ids) => address('see-as', { q, find, app, start, at, token, with: ids.join(',') })}
          />
          <TokenFilterBar
            text={text ?? ''}
            to={(filter) => address('see-as', { ...filter, app, token, with: compared })}
          />
        </header>
        <Wrong>{applications.error}</Wrong>
        {applications.value !== undefined && application === undefined && (
          <div class="empty">
            <p>No application can read tokens yet. A private application can, as its rules allow.</p>
            <a class="button" href={address('applications', { draft: 'new' })}>
              New application
            </a>
          </div>
        )}
        {application !== undefined && (
          <Filtered text={text}>
            {(filter) => (
              <SeenTokens
                {...{ application, others, all, filter, start, token, compared }}
                kept={{ q, find }}
                at={Number(at)}
              />
            )}
          </Filtered>
        )}
      </div>
      {application !== undefined && token !== undefined && (
        <Why
          {...{ application, all, id: token }}
          closed={address('see-as', { q, find, app, start, at, with: compared })}
        />
      )}
    </>
  );
}
