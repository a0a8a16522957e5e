import { useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { Button, Form } from '../parts/controls.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { Time, Wrong } from '../parts/pieces.tsx';
import { ask } from '../session.ts';
import { useControl } from './control.ts';

interface Snapshot {
  readonly name: string;
  readonly saved_at?: string;
  readonly tokens?: number;
  /** The reason why the snapshot cannot be loaded. */
  readonly refused?: string;
}

/** Shows the snapshots, with buttons that save, load and delete them. */
export function Snapshots() {
  const { act, error } = useControl();
  const [typed, setTyped] = useState('');
  const snapshots = useLoaded('snapshots', (signal) =>
    ask<{ readonly data: readonly Snapshot[] }>('dev/snapshots', { signal }),
  );
  const { data = [] } = snapshots.value ?? {};
  const replace = data.some(({ name }) => name === typed);

  function save() {
    const command = `vault dev snapshot save ${typed}${replace ? ' --replace' : ''}`;
    void act(command, () => ask('dev/snapshots', { method: 'POST', body: { name: typed, replace } }));
  }
  const load = (name: string) =>
    void act(`vault dev snapshot load ${name} --yes`, () => ask(`dev/snapshots/${name}/load`, { method: 'POST' }));
  const remove = (name: string) =>
    void act(`vault dev snapshot delete ${name} --yes`, () => ask(`dev/snapshots/${name}`, { method: 'DELETE' }));

  return (
    <section aria-labelledby="dev-snapshots">
      <h2 id="dev-snapshots">Snapshots</h2>
      <ul class="chips" aria-label="Saved snapshots">
        {data.map(({ name, tokens, saved_at, refused }) => (
          <li key={name}>
            <code>{name}</code>{' '}
            {refused ?? (
              <>
                {wholeNumber(tokens ?? 0)} tokens, <Time at={saved_at} />
              </>
            )}{' '}
            <Sure
              label="Load"
              question={`Load ${name}? Later changes are lost`}
              disabled={refused !== undefined}
              act={() => load(name)}
            />{' '}
            <Sure label="Delete" question={`Delete ${name}?`} act={() => remove(name)} />
          </li>
        ))}
        {snapshots.value !== undefined && data.length === 0 && <li class="soft">none</li>}
      </ul>
      <div class="buttons">
        <Form class="buttons" onSend={save}>
          <input
            name="name"
            required
            pattern="[a-z0-9_\-]{1,64}"
            title="lower-case letters, digits, - and _"
            placeholder="before-run"
            aria-label="Name of the snapshot"
            value={typed}
            onInput={({ currentTarget: { value } }) => setTyped(value)}
          />
          <button type="submit">{replace ? 'Replace' : 'Save'}</button>
        </Form>
        <Sure
          label="Reset"
          question="Reset the vault? All changes since its start are lost"
          act={() => void act('vault dev reset --yes', () => ask('dev/reset', { method: 'POST' }))}
        />
      </div>
      <Wrong>{error ?? snapshots.error}</Wrong>
    </section>
  );
}

interface SureOptions {
  readonly label: string;
  /** The label after the first press. */
  readonly question: string;
  readonly disabled?: boolean;
  readonly act: () => void;
}

/** A button for a destructive action: the second press acts, and leaving the button cancels the first. */
function Sure({ label, question, disabled, act }: SureOptions) {
  const [isAsked, setAsked] = useState(false);
  return (
    <Button
      class={isAsked ? 'danger' : ''}
      disabled={disabled}
      onBlur={() => setAsked(false)}
      onClick={() => {
        setAsked(!isAsked);
        if (isAsked) act();
      }}
    >
      {isAsked ? question : label}
    </Button>
  );
}
