import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FormField } from '../parts/form-field.tsx';

/** The maximum number of suggested filters. */
const MAX_OFFERED = 8;

/** Matches the name and arguments of a filter after a `|` inside `{{`. */
const FILTER = /\{\{(?:(?!\}\}).)*\|\s*([a-z_0-9]*)(\s*:[^|{}]*)?$/s;

/** Shows a field for expressions. After `{{ data |`, it suggests filters and shows their arguments. */
export function ExpressionField(options: Parameters<typeof FormField>[0]) {
  const { name, value, onInput } = options;
  const [before, setBefore] = useState('');
  const [at, setAt] = useState(0);
  const caret = useRef<number>();
  const { typed = '', offered, known } = offersOf(value.startsWith(before) ? before : '');
  const isOpen = offered.length > 0;
  const chosen = Math.min(at, offered.length - 1);
  const id = `offers-${name}`;

  function complete(filter: string) {
    const start = before.slice(0, before.length - typed.length) + filter;
    onInput(start + value.slice(before.length), start.length);
    setBefore(start);
    caret.current = start.length;
  }

  // A new value moves the cursor to the end, so restore it before the next key press.
  useLayoutEffect(() => {
    const field = document.activeElement;
    const at = caret.current;
    caret.current = undefined;
    if (at !== undefined && field instanceof HTMLTextAreaElement) field.setSelectionRange(at, at);
  }, [value]);

  function press(event: KeyboardEvent) {
    const act = KEYS[event.key];
    if (!isOpen || act === undefined || event.ctrlKey) return;
    event.preventDefault();
    if (act === 'close') setBefore('');
    else if (act === 'take') complete(offered[chosen] ?? '');
    else setAt((chosen + act + offered.length) % offered.length);
  }

  return (
    <FormField
      {...options}
      onInput={(text, caret) => {
        onInput(text, caret);
        setBefore(text.slice(0, caret));
        setAt(0);
      }}
      control={{
        'aria-autocomplete': 'list',
        'aria-controls': isOpen ? id : undefined,
        'aria-activedescendant': isOpen ? `${id}-${chosen}` : undefined,
        onKeyDown: press,
        onBlur: () => setBefore(''),
      }}
    >
      {known !== undefined && <p class="signature code">{FILTER_SIGNATURES[known]}</p>}
      {isOpen && (
        <div id={id} class="offers code" role="listbox" aria-label="Filters">
          {offered.map((filter, index) => (
            <div
              key={filter}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === chosen}
              tabIndex={-1}
              onMouseDown={(event) => {
                event.preventDefault();
                complete(filter);
              }}
            >
              {FILTER_SIGNATURES[filter]}
            </div>
          ))}
        </div>
      )}
    </FormField>
  );
}

const KEYS: Readonly<Record<string, 1 | -1 | 'take' | 'close'>> = {
  ...{ ArrowDown: 1, ArrowUp: -1, Enter: 'take', Tab: 'take', Escape: 'close' },
};

/** Returns the filters that complete the text before the cursor, or the filter that it names. */
function offersOf(before: string) {
  const [, typed, rest] = FILTER.exec(before) ?? [];
  const known = typed !== undefined && Object.hasOwn(FILTER_SIGNATURES, typed) ? typed : undefined;
  const isNaming = typed !== undefined && rest === undefined && known === undefined;
  const offered = isNaming ? Object.keys(FILTER_SIGNATURES).filter((each) => each.startsWith(typed)) : [];
  return { typed, known, offered: offered.slice(0, MAX_OFFERED) };
}
