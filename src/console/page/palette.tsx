import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApplications } from './applications.ts';
import { openKeyList } from './key-list.tsx';
import { useKeys } from './keys.ts';
import { reload } from './loaded.ts';
import { Form } from './parts/controls.tsx';
import { address, go } from './route.ts';
import type { ScreenRow } from './screens.ts';
import { lock } from './session.ts';

/** The maximum number of lines in the palette. */
const MAX_LINES = 12;

/** A line of the palette: a destination or an action. */
interface Line {
  readonly kind: string;
  readonly text: string;
  readonly act: () => void;
}

const COMMANDS: readonly Line[] = [
  { kind: 'command', text: 'Reload', act: reload },
  { kind: 'command', text: 'Show all shortcuts', act: openKeyList },
  { kind: 'command', text: 'Lock', act: () => void lock() },
];

const isOpen = signal(false);

/** Shows the palette (Ctrl K), which finds screens, applications, commands, and a token by its id. */
export function Palette({ screens }: { readonly screens: readonly ScreenRow[] }) {
  useKeys({ 'Ctrl k': () => (isOpen.value = true) });
  return isOpen.value ? <Finder screens={screens} /> : null;
}

function Finder({ screens }: { readonly screens: readonly ScreenRow[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const applications = useApplications().value ?? [];
  const lines = linesFor(typed.trim(), [
    ...screens.map(({ id, name }) => ({ kind: 'screen', text: name, act: () => go(address(id)) })),
    ...applications.map(({ id, name }) => ({
      kind: 'application',
      text: name,
      act: () => go(address('applications', { app: id })),
    })),
    ...COMMANDS,
  ]);

  useLayoutEffect(() => dialog.current?.showModal(), []);

  function choose(line: Line | undefined) {
    if (line === undefined) return;
    dialog.current?.close();
    line.act();
  }

  function press(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setAt((at + step + lines.length) % Math.max(1, lines.length));
  }

  return (
    <dialog ref={dialog} class="palette" aria-label="Find" onClose={() => (isOpen.value = false)}>
      <Form onSend={() => choose(lines[at])}>
        <input
          role="combobox"
          aria-label="A screen, an application, a command or the id of a token"
          aria-controls="found"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-activedescendant={`found-${at}`}
          placeholder="a screen, an application, a command or the id of a token"
          value={typed}
          onInput={({ currentTarget: { value } }) => {
            setTyped(value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </Form>
      <div id="found" role="listbox" aria-label="Found">
        {lines.map((line, n) => (
          <button
            key={`${line.kind} ${line.text}`}
            type="button"
            id={`found-${n}`}
            role="option"
            aria-selected={n === at}
            tabIndex={-1}
            onClick={() => choose(line)}
          >
            <span title={line.text}>{line.text}</span> <small>{line.kind}</small>
          </button>
        ))}
      </div>
    </dialog>
  );
}

/** Returns the lines that contain the typed text, and a line for the token with this id if the text may be an id. */
function linesFor(typed: string, all: readonly Line[]): readonly Line[] {
  const wanted = typed.toLowerCase();
  const found = all.filter(({ text }) => text.toLowerCase().includes(wanted)).slice(0, MAX_LINES - 1);
  const token = { kind: 'token', text: typed, act: () => go(address('tokens', { token: typed })) };
  return typed.length >= MIN_ID && !/\s/.test(typed) ? [...found, token] : found;
}

/** The minimum length of a token id (decisions §4). */
const MIN_ID = 3;
