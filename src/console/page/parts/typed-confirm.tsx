import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from '../keys.ts';
import { messageOf } from '../loaded.ts';
import { AsCommand } from './as-command.tsx';
import type { ShownCall, ShownCommand } from './command-of.ts';
import { Button } from './controls.tsx';
import { FormField } from './form-field.tsx';
import { Wrong } from './pieces.tsx';

interface TypedConfirmOptions {
  readonly action: string;
  /** The text that the user must type. */
  readonly word: string;
  readonly command: ShownCall | ShownCommand;
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  /** A description of the effect. */
  readonly children: ComponentChildren;
}

/** Asks the user to type a name before an action that cannot be undone. */
export function TypedConfirm({ action, word, command, onConfirm, onClose, children }: TypedConfirmOptions) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<string>();
  const close = () => dialog.current?.close();
  useKeys({ Escape: close });
  // Open before the next key press, which would otherwise reach the page behind.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  async function confirm(event: Event) {
    event.preventDefault();
    if (typed !== word) return;
    try {
      await onConfirm();
      close();
    } catch (wrong) {
      setError(messageOf(wrong));
    }
  }

  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <form onSubmit={confirm}>
        <h2 id="confirm-title">{action}</h2>
        {children}
        <FormField
          name="confirm"
          label={
            <>
              Type <code>{word}</code> to confirm
            </>
          }
          value={typed}
          onInput={setTyped}
        />
        <Wrong>{error}</Wrong>
        <div class="buttons">
          <button type="submit" class="danger" disabled={typed !== word}>
            {action}
          </button>
          <Button onClick={close}>Cancel</Button>
        </div>
        <AsCommand of={command} />
      </form>
    </dialog>
  );
}
