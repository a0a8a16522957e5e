import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAction } from '../loaded.ts';
import { AsCommand } from './as-command.tsx';
import type { ShownCall, ShownCommand } from './command-of.ts';
import { Button, Form } from './controls.tsx';
import { FormField } from './form-field.tsx';
import { Wrong } from './pieces.tsx';

interface ConfirmOptions {
  readonly action: string;
  /** The text that the user must type. */
  readonly word: string;
  readonly command: ShownCall | ShownCommand;
  readonly onConfirm: () => Promise<unknown>;
  /** A description of the effect. */
  readonly children: ComponentChildren;
}

/** Shows a button for an action that cannot be undone. It asks the user to type a name first. */
export function ConfirmButton({
  button,
  ...options
}: ConfirmOptions & { readonly button: Parameters<typeof Button>[0] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen && <Confirm {...options} onClose={() => setOpen(false)} />}
    </>
  );
}

function Confirm(options: ConfirmOptions & { readonly onClose: () => void }) {
  const { action, word, command, onConfirm, onClose, children } = options;
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const { act, error } = useAction();
  const close = () => dialog.current?.close();
  // Open before the next key press, which would otherwise reach the page behind.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  async function confirm() {
    if (typed === word) await act(() => onConfirm().then(close));
  }

  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title">
      <Form onSend={confirm}>
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
      </Form>
    </dialog>
  );
}
