import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Application } from '../../client/create-client.ts';
import { AsCommand } from './parts/as-command.tsx';
import type { ShownCall } from './parts/command-of.ts';
import { Button } from './parts/controls.tsx';
import { copy } from './parts/pieces.tsx';

interface Owner {
  readonly name: string;
  /** The command that makes such a key. */
  readonly command: ShownCall;
}

const owner = signal<Owner | undefined>(undefined);

/** The new API key. It is not in a signal or state, which would keep its value after it is cleared. */
let apiKey = '';

/** Shows the new API key of an application until the user confirms. Default `command`: regenerate. */
export function showNewKey(
  { id, name, key = '' }: Application,
  command: ShownCall = { operation: 'regenerateApplicationKey', params: { id }, more: '--key-out FILE' },
): void {
  apiKey = key;
  owner.value = { name, command };
}

/** Shows a new API key once, until "I have saved it", Lock or a reload. */
export function NewKey() {
  return owner.value === undefined ? null : <ShownKey owner={owner.value} />;
}

function ShownKey({ owner: { name, command } }: { readonly owner: Owner }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const element = useRef<HTMLElement>(null);

  function forget() {
    apiKey = '';
    element.current?.replaceChildren();
    owner.value = undefined;
  }

  useLayoutEffect(() => {
    element.current?.replaceChildren(apiKey);
    return forget;
  }, []);
  // Open before the next key press, which would otherwise reach the page behind.
  useLayoutEffect(() => dialog.current?.showModal(), []);

  // Without onCancel, Esc would lose the key.
  return (
    <dialog ref={dialog} onCancel={(event) => event.preventDefault()} aria-labelledby="new-key-title">
      <h2 id="new-key-title">New API key of {name}</h2>
      <p>It is shown only once. The vault stores only its hash.</p>
      <p>
        <code class="new-key" ref={element} />
      </p>
      <div class="buttons">
        {isSecureContext && <Button onClick={() => copy(apiKey)}>Copy</Button>}
        <Button class="main" onClick={forget}>
          I have saved it
        </Button>
      </div>
      <p class="note">Browser extensions and clipboard histories can read it. To write a key to a file:</p>
      <AsCommand of={command} />
    </dialog>
  );
}
