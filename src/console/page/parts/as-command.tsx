import { aboutSession } from '../session.ts';
import { formsOf, type ShownCall, type ShownCommand } from './command-of.ts';
import { Menu } from './menu.tsx';
import { CopyButton } from './pieces.tsx';

interface AsCommandOptions {
  /** The call or command; for a call also as curl and TypeScript. */
  readonly of: ShownCall | ShownCommand;
}

/** Shows a menu with the equivalent command, to copy it. */
export function AsCommand({ of }: AsCommandOptions) {
  const about = aboutSession();
  const forms = Object.entries(about === undefined ? {} : formsOf(of, about));
  return (
    <Menu class="command" name={forms.length > 1 ? 'Copy as command, curl, TypeScript' : 'Copy as command'}>
      <div>
        {forms.map(([name, form]) => (
          <div class="as" key={name}>
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
        ))}
      </div>
    </Menu>
  );
}
