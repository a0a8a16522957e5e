import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The completions of the text before the cursor. `typed` is the part at its end that an offer replaces. */
export interface Offered {
  readonly typed: string;
  readonly offers: readonly Offer[];
}

interface Offer {
  readonly text: string;
  /** Shown instead of the text. */
  readonly label?: string | undefined;
}

interface OffersOptions<Found extends Offered> {
  /** The name of the field; unique on the page. */
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly onInput: (text: string, caret: number) => void;
  readonly offersAt: (before: string) => Found;
  /** Whether Enter takes the first offer. Otherwise Enter takes only an offer that the arrows chose. */
  readonly takesFirst: boolean;
}

type Field = HTMLInputElement | HTMLTextAreaElement;

/** Completes the text of a field. Returns the handlers and attributes of the field, and the list to show below it. */
export function useOffers<Found extends Offered>(options: OffersOptions<Found>) {
  const { name, label, value, onInput, offersAt, takesFirst } = options;
  const [before, setBefore] = useState('');
  const [at, setAt] = useState(-1);
  const caret = useRef<number>();
  const found = offersAt(value.startsWith(before) ? before : '');
  const { typed, offers } = found;
  const isOpen = before !== '' && offers.length > 0;
  const chosen = Math.min(takesFirst ? Math.max(0, at) : at, offers.length - 1);
  const id = `offers-${name}`;

  function complete(offer: Offer | undefined) {
    const start = before.slice(0, before.length - typed.length) + (offer?.text ?? '');
    onInput(start + value.slice(before.length), start.length);
    setBefore(start);
    setAt(-1);
    caret.current = start.length;
  }

  // A new value moves the cursor to the end, so restore it before the next key press.
  useLayoutEffect(() => {
    const field = document.activeElement;
    const at = caret.current;
    caret.current = undefined;
    if (at !== undefined && field instanceof Element && field.matches('input, textarea'))
      (field as Field).setSelectionRange(at, at);
  }, [value]);

  function press(event: KeyboardEvent) {
    const act = KEYS[event.key];
    if (!isOpen || act === undefined || event.ctrlKey || event.shiftKey) return;
    if (event.key === 'Enter' && chosen < 0) return;
    event.preventDefault();
    if (act === 'close') setBefore('');
    else if (act === 'take') complete(offers[Math.max(0, chosen)]);
    else setAt((Math.max(chosen, act > 0 ? -1 : 0) + act + offers.length) % offers.length);
  }

  return {
    control: {
      'aria-autocomplete': 'list',
      'aria-controls': isOpen ? id : undefined,
      'aria-activedescendant': isOpen && chosen >= 0 ? `${id}-${chosen}` : undefined,
      onKeyDown: press,
      onBlur: () => setBefore(''),
    } as const,
    found,
    isOpen,
    onType(text: string, caret: number) {
      onInput(text, caret);
      setBefore(text.slice(0, caret));
      setAt(-1);
    },
    list: isOpen && (
      <div id={id} class="offers code" role="listbox" aria-label={label}>
        {offers.map((offer, index) => (
          <div
            key={offer.text}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            tabIndex={-1}
            onMouseDown={(event) => {
              event.preventDefault();
              complete(offer);
            }}
          >
            {offer.label ?? offer.text}
          </div>
        ))}
      </div>
    ),
  };
}

const KEYS: Readonly<Record<string, 1 | -1 | 'take' | 'close'>> = {
  ...{ ArrowDown: 1, ArrowUp: -1, Enter: 'take', Tab: 'take', Escape: 'close' },
};
