import { useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { number } from '../parts/numbers.ts';
import { CommandLine, Sees, Wrong } from '../parts/pieces.tsx';
import { vault } from '../vault.ts';

/** Shows a button that counts the tokens that each rule of an application governs. */
export function CountAll({ id }: { readonly id: string }) {
  const [asked, setAsked] = useState<string>();
  const isAsked = asked === id;
  const { value, error, isLoading } = useLoaded(isAsked ? id : undefined, (signal) =>
    vault().measureReach({ body: { application_id: id }, signal }),
  );
  if (!isAsked) {
    return (
      <button type="button" onClick={() => setAsked(id)}>
        Count all
      </button>
    );
  }
  if (error !== undefined) return <Wrong>{error}</Wrong>;
  if (isLoading || value === undefined) return <span role="status">Counting…</span>;
  return (
    <>
      <span role="status">
        In total:
        {value.reach.map(({ source, priority, transform, tokens, capped }) => (
          <span class="count" key={`${priority} ${transform}`}>
            {source === 'rule' ? `rule ${priority}` : source === 'permission' ? 'plain' : ''} <Sees as={transform} />{' '}
            <b>
              {number(tokens)}
              {capped && '+'}
            </b>
          </span>
        ))}
      </span>
      <CommandLine text={`vault apps reach ${id}`} />
    </>
  );
}
