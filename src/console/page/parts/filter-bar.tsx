import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { go } from '../route.ts';
import { Key } from './pieces.tsx';

interface FilterOptions {
  readonly text: string;
  readonly hint: string;
  /** Returns the address of the filtered list. */
  readonly apply: (typed: string) => string;
}

/** Shows the input of a filter. `/` focuses it, and Enter applies it. */
export function FilterBar({ text, hint, apply }: FilterOptions) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => field.current?.focus() });
  useEffect(() => {
    if (field.current !== null) field.current.value = text;
  }, [text]);
  return (
    <search class="filter">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          go(apply(field.current?.value.trim() ?? ''));
        }}
      >
        <input ref={field} aria-label="Filter" placeholder={hint} autocomplete="off" spellcheck={false} />
        <Key name="/" />
      </form>
    </search>
  );
}
