import { useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { commandOf, curlOf, type ShownCall, typescriptOf } from '../parts/command-of.ts';
import { JsonView } from '../parts/json-view.tsx';
import { Pane } from '../parts/pane.tsx';
import { CopyButton, Time, Wrong } from '../parts/pieces.tsx';
import { Reveal } from '../parts/reveal.tsx';
import { isHeld } from '../session.ts';
import { loadTokenText, vault } from '../vault.ts';
import { SeenBy } from './seen-by.tsx';
import { TokenWrites } from './token-writes.tsx';

const FORMS = {
  JSON: undefined,
  CLI: commandOf,
  curl: curlOf,
  TypeScript: typescriptOf,
} as const;

type Form = keyof typeof FORMS;

interface PaneOptions {
  readonly id: string;
  readonly closed: string;
  /** The address of the form that changes the token. */
  readonly change: string;
}

/** Shows a token in masked form, its plaintext on request, the applications that see it, and its log. */
export function TokenPane({ id, closed, change }: PaneOptions) {
  const token = useLoaded(id, (signal) => loadTokenText(id, '?transform=mask', signal));
  return (
    <Pane title={<code>{id}</code>} subject={id} closed={closed}>
      <Wrong>{token.error}</Wrong>
      {token.value !== undefined && !token.isLoading && (
        <>
          <Forms id={id} text={token.value} />
          <Reveal id={id} />
          <SeenBy text={token.value} />
          <TokenLog id={id} />
          <TokenWrites id={id} closed={closed} change={change} />
        </>
      )}
    </Pane>
  );
}

function Forms({ id, text }: { readonly id: string; readonly text: string }) {
  const [form, setForm] = useState<Form>('JSON');
  const shown: ShownCall = { operation: 'getToken', params: { id }, query: { transform: 'mask' } };
  const code = FORMS[form]?.(shown);
  return (
    <section>
      <fieldset class="tabs" aria-label="Form">
        {Object.keys(FORMS).map((name) => (
          <button type="button" key={name} aria-pressed={name === form} onClick={() => setForm(name as Form)}>
            {name}
          </button>
        ))}
        <CopyButton text={code ?? text} />
      </fieldset>
      {code === undefined ? <JsonView text={text} /> : <pre class="json">{code}</pre>}
    </section>
  );
}

const ENTRIES = 5;

/** Shows the newest audit entries about the token. */
function TokenLog({ id }: { readonly id: string }) {
  const { value, error } = useLoaded(isHeld('log:read') ? id : undefined, (signal) =>
    vault().listLogs({ query: { entity_id: id, size: ENTRIES }, signal }),
  );
  return (
    <section>
      <h3>Log</h3>
      <Wrong>{error}</Wrong>
      {value === undefined && error === undefined && !isHeld('log:read') && (
        <p class="note">No key of the console holds log:read.</p>
      )}
      {value?.data.length === 0 && <p class="note">No entries.</p>}
      <ul class="log">
        {value?.data.map((entry) => (
          <li key={entry.id}>
            <Time at={entry.created_at} /> <code>{entry.operation}</code> {entry.status}
            {entry.revealed && ' revealed'}
          </li>
        ))}
      </ul>
    </section>
  );
}
