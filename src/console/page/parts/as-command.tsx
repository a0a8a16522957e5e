import { type Copied, commandOf, curlOf, type ShownCall, type ShownCommand, typescriptOf } from './command-of.ts';
import { Menu } from './menu.tsx';
import { CopyButton } from './pieces.tsx';

interface AsCommandOptions {
  /** The call or command; for a call also as curl and TypeScript. */
  readonly of: ShownCall | ShownCommand;
}

/** Shows a menu with the equivalent command, to copy it. */
export function AsCommand({ of }: AsCommandOptions) {
  const forms: readonly (readonly [string, Copied])[] = [
    ['command', commandOf(of)],
    ...('text' in of
      ? []
      : ([
          ['curl', curlOf(of)],
          ['TypeScript', typescriptOf(of)],
        ] as const)),
  ];

  return (
    <Menu class="command" name={forms.length > 1 ? 'Copy as command, curl, TypeScript' : 'Copy as command'}>
      <div>
        {forms.map(([name, form]) => (
          <Form key={name} name={name} form={form} />
        ))}
      </div>
    </Menu>
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
