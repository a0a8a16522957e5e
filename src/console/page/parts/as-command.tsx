import { useEffect, useRef, useState } from 'preact/hooks';
import { type Copied, commandOf, curlOf, type ShownCall, type ShownCommand, typescriptOf } from './command-of.ts';
import { CopyButton } from './pieces.tsx';

interface AsCommandOptions {
  /** The call or command; for a call also as curl and TypeScript. */
  readonly of: ShownCall | ShownCommand;
}

/** Shows a menu with the equivalent command, to copy it. */
export function AsCommand({ of }: AsCommandOptions) {
  const element = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  const forms: readonly (readonly [string, Copied])[] = [
    ['command', commandOf(of)],
    ...('text' in of
      ? []
      : ([
          ['curl', curlOf(of)],
          ['TypeScript', typescriptOf(of)],
        ] as const)),
  ];

  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      const { current } = element;
      const isInside = event.target instanceof Node && current?.contains(event.target);
      if (current !== null && (event instanceof KeyboardEvent ? event.key === 'Escape' : !isInside)) {
        current.open = false;
        if (event instanceof KeyboardEvent) event.stopPropagation();
      }
    };
    addEventListener('pointerdown', close);
    addEventListener('keydown', close, true);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('keydown', close, true);
    };
  }, [isOpen]);

  return (
    <details class="command" ref={element} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>{forms.length > 1 ? 'Copy as command, curl, TypeScript' : 'Copy as command'}</summary>
      <div>
        {forms.map(([name, form]) => (
          <Form key={name} name={name} form={form} />
        ))}
      </div>
    </details>
  );
}

function Form({ name, form }: { readonly name: string; readonly form: Copied }) {
  return (
    <div class="as">
      <b>{name}</b>
      {'reason' in form ? (
        <span class="note">{form.reason}</span>
      ) : (
        <>
          <CopyButton text={form.text} />
          <pre>
            <code>{form.text}</code>
          </pre>
          {form.note !== undefined && <span class="note">{form.note}</span>}
        </>
      )}
    </div>
  );
}
