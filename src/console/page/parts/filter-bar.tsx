import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { messageOf } from '../loaded.ts';
import { go } from '../route.ts';
import { Form } from './controls.tsx';
import { type Offered, useOffers } from './offers.tsx';
import { toast } from './pieces.tsx';

interface FilterOptions {
  readonly text: string;
  readonly hint: string;
  /** Returns the address of the filtered list. */
  readonly apply: (typed: string) => string | Promise<string>;
  /** Completes the text before the cursor. */
  readonly offersAt?: (before: string) => Offered;
  /** Shows a menu beside the input. `choose` applies another text. */
  readonly menu?: (typed: string, choose: (text: string) => void) => ComponentChildren;
}

const NOTHING: Offered = { typed: '', offers: [] };

/** Shows the input of a filter. `/` focuses it, and Enter applies it. */
export function FilterBar({ text, hint, apply, offersAt = () => NOTHING, menu }: FilterOptions) {
  const field = useRef<HTMLInputElement>(null);
  const [value, setValue] = useState(text);
  useKeys({ '/': () => field.current?.focus() });
  useEffect(() => setValue(text), [text]);
  const offers = useOffers({ name: 'filter', label: 'Terms', value, onInput: setValue, offersAt, takesFirst: false });

  async function applyText(typed: string) {
    try {
      go(await apply(typed.trim()));
    } catch (error) {
      toast(messageOf(error));
    }
  }

  return (
    <search class="filter">
      <Form onSend={() => applyText(field.current?.value ?? value)}>
        <input
          ref={field}
          role="combobox"
          aria-label="Filter"
          aria-expanded={offers.isOpen}
          placeholder={hint}
          value={value}
          onInput={({ currentTarget: { value, selectionStart } }) =>
            offers.onType(value, selectionStart ?? value.length)
          }
          {...offers.control}
        />
        <kbd>/</kbd>
      </Form>
      {offers.list}
      {menu?.(value, applyText)}
    </search>
  );
}
