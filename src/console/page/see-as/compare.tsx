import type { Application } from '../../../client/create-client.ts';
import { Select } from '../parts/controls.tsx';
import { go } from '../route.ts';

/** The maximum number of further applications to compare. */
const MAX_OTHERS = 3;

/** Returns the further applications that the address names. */
export function chosenOf(
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
export function Compare({ readers, chosen, hrefOf }: CompareOptions) {
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
