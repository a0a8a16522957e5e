import type { Application } from '../../../client/create-client.ts';
import { readersOf, useApplications } from '../applications.ts';
import { Select } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { address, go, here, route } from '../route.ts';
import { queryAt } from '../tokens/filter.ts';
import { Filtered, TokenFilterBar } from '../tokens/token-filter.tsx';
import { SeenTokens } from './seen-tokens.tsx';
import { Why } from './why.tsx';

/** The maximum number of further applications to compare. */
const MAX_OTHERS = 3;

/** Shows the tokens as an application sees them. */
export function SeeAs() {
  const applications = useApplications();
  const { app, token, with: compared } = route.value.query;
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
            choose={(id) => go(here({ app: id }))}
          />
          <Compare readers={readers.filter(({ id }) => id !== application?.id)} chosen={others} />
          <TokenFilterBar text={text} />
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
          <Filtered text={text}>{(filter) => <SeenTokens {...{ application, others, all, filter }} />}</Filtered>
        )}
      </div>
      {application !== undefined && token !== undefined && <Why {...{ application, all, id: token }} />}
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
}

/** Shows the further applications, with controls to add and remove them. */
function Compare({ readers, chosen }: CompareOptions) {
  const hrefOf = (ids: readonly string[]) => here({ with: ids.join(',') });
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
