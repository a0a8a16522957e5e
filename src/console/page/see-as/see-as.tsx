import type { Application } from '../../../client/create-client.ts';
import { readersOf, useApplications } from '../applications.ts';
import { Select } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { address, go, route } from '../route.ts';
import { queryAt } from '../tokens/filter.ts';
import { Filtered, TokenFilterBar } from '../tokens/token-filter.tsx';
import { SeenTokens } from './seen-tokens.tsx';
import { Why } from './why.tsx';

/** The maximum number of further applications to compare. */
const MAX_OTHERS = 3;

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

/** Returns the further applications that the address names. */
function chosenOf(
  ids: string | undefined,
  readers: readonly Application[],
  first: Application | undefined,
): readonly Application[] {
  const found = (ids ?? '').split(',').flatMap((id) => readers.filter((each) => each.id === id && each !== first));
  return [...new Set(found)].slice(0, MAX_OTHERS);
}

interface CompareOptions {
  readonly readers: readonly Application[];
  readonly chosen: readonly Application[];
  /** Returns the address with these applications. */
  readonly hrefOf: (ids: readonly string[]) => string;
}

/** Shows the further applications, with controls to add and remove them. */
function Compare({ readers, chosen, hrefOf }: CompareOptions) {
  const remaining = readers.filter((each) => !chosen.includes(each));
  const ids = chosen.map(({ id }) => id);
  return (
    <>
      {chosen.map(({ id, name }) => (
        <a class="tag" key={id} href={hrefOf(ids.filter((each) => each !== id))} aria-label={`Compare without ${name}`}>
          <span class="name" dir="auto">
            {name}
          </span>{' '}
          ×
        </a>
      ))}
      {chosen.length < MAX_OTHERS && remaining.length > 0 && (
        <Select
          aria-label="Compare with"
          value=""
          options={[['', 'Compare…'], ...remaining.map(({ id, name }) => [id, name] as const)]}
          choose={(id) => go(hrefOf([...ids, id]))}
        />
      )}
    </>
  );
}
