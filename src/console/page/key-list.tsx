import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { singleKeys } from './keys.ts';
import { Check } from './parts/controls.tsx';
import type { ScreenRow } from './screens.ts';

const isOpen = signal(false);

export function openKeyList(): void {
  isOpen.value = true;
}

const KEYS = [
  ['Ctrl K', 'find a screen, an application, a command, a token'],
  ['/', 'filter'],
  ['j k ↓ ↑', 'next or previous row'],
  ['Enter', 'open the row'],
  ['c', 'copy the id of the row'],
  ['x', 'select the row'],
  ['Esc', 'close, and return to the row'],
  ['[ ]', 'newer or older page'],
  ['v', 'reveal or hide the plaintext'],
  ['n', 'new token or application'],
  ['e', 'edit the open item'],
  ['Ctrl Enter', 'send the form'],
  ['r', 'reload'],
  ['Ctrl L', 'lock all tabs'],
] as const;

/** Lists all shortcuts in a dialog. */
export function KeyList({ screens }: { readonly screens: readonly ScreenRow[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOn, setOn] = useState(singleKeys.get());
  const isShown = isOpen.value;
  useEffect(() => {
    if (isShown) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isShown]);
  return (
    <dialog ref={dialog} onClose={() => (isOpen.value = false)} aria-labelledby="shortcuts-title">
      <h2 id="shortcuts-title">Shortcuts</h2>
      <dl class="keys">
        {[...screens.map(({ key, name }) => [`g ${key}`, name] as const), ...KEYS].map(([key, text]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <Check
        isOn={isOn}
        turn={(next) => {
          singleKeys.set(next);
          setOn(next);
        }}
      >
        Use shortcuts without Ctrl
      </Check>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
