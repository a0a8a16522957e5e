import { useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks';
import type { About } from '../about.ts';
import { clock, spanOf, useClock } from './dev/clock-state.ts';
import { IdentityChoice } from './identity-choice.tsx';
import { KeyList, openKeyList } from './key-list.tsx';
import { useKeys } from './keys.ts';
import { reload } from './loaded.ts';
import { NewKey } from './new-key.tsx';
import { EndedKeys, NeedsKey, OutageLine, WayBack } from './notices.tsx';
import { outage } from './outage.ts';
import { Palette } from './palette.tsx';
import { Button } from './parts/controls.tsx';
import { Toast, Wrong } from './parts/pieces.tsx';
import { address, go, route } from './route.ts';
import { SCREENS, type ScreenRow } from './screens.ts';
import { isHeld, lock, type SessionState, session } from './session.ts';
import { ThemeChoice } from './theme.tsx';

/** Shows the side bar and the screen in the address. */
export function Shell() {
  const state = session.value;
  return (
    <>
      {state.kind === 'open' && <Open about={state.about} />}
      {(state.kind === 'confirm' || state.kind === 'locked') && <Locked state={state} />}
      <Toast />
    </>
  );
}

function Open({ about }: { readonly about: About }) {
  const shown = SCREENS.filter(({ needs }) => needs?.(about) ?? true);
  const [isMore, setMore] = useState(false);
  const { screen } = route.value;
  const current = shown.find(({ id }) => id === screen);
  useLayoutEffect(() => setMore(false), [screen]);
  useKeys({
    ...Object.fromEntries(shown.map(({ id, key }) => [`g ${key}`, () => go(address(id))])),
    r: reload,
    '?': openKeyList,
    'Ctrl l': () => void lock(),
  });
  return (
    <div class="shell">
      <nav class={isMore ? 'side open' : 'side'} aria-label="Screens">
        <span class="brand">
          <Mark size={18} /> vault
        </span>
        <b class="at">{current?.name}</b>
        <ul>
          {shown.map((row) => (
            <li key={row.id}>
              <ScreenLink of={row} />
            </li>
          ))}
        </ul>
        <ClockLine isDev={about.dev} />
        <Button class="more" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          {isMore ? 'Close' : 'Menu'}
        </Button>
        <div class="below">
          <IdentityChoice identities={about.identities} />
          <ThemeChoice />
          <p class="where" title={about.url}>
            {about.url.replace(/^https?:\/\//, '')}
            {about.dev && ' · dev'}
            {!isSecureContext && ' · not encrypted'}
          </p>
          <Button onClick={openKeyList}>
            Shortcuts <kbd>?</kbd>
          </Button>
          <a class="button" href={documentationOf(current?.name)} target="_blank" rel="noreferrer">
            Documentation
          </a>
          <Button onClick={() => void lock()}>
            Lock <kbd>Ctrl L</kbd>
          </Button>
        </div>
      </nav>
      <main key={screen} class={outage.value === undefined ? undefined : 'outage'}>
        <OutageLine />
        <EndedKeys identities={about.identities} />
        <div class="content" inert={outage.value !== undefined}>
          {current === undefined ? <NoScreen /> : <Screen of={current} />}
        </div>
      </main>
      <KeyList screens={shown} />
      <Palette screens={shown} />
      <NewKey />
    </div>
  );
}

/** Returns the address of the documentation, with the heading of the screen to scroll to. */
const documentationOf = (name = 'Console') => `/ui/docs/console.md#:~:text=${encodeURIComponent(`# ${name}`)}`;

/** Shows a screen, or its error in the same place if it fails, so that the side bar stays usable. */
function Screen({ of: { show: Show, name, permission } }: { readonly of: ScreenRow }) {
  const [error] = useErrorBoundary();
  if (permission !== undefined && !isHeld(permission)) return <NeedsKey name={name} permission={permission} />;
  return error === undefined ? <Show /> : <Wrong>{String(error)}</Wrong>;
}

/** Shows the link of a screen, dimmed when no key may open it. */
function ScreenLink({ of: { id, name, key, permission } }: { readonly of: ScreenRow }) {
  const isOpen = permission === undefined || isHeld(permission);
  return (
    <a
      href={address(id)}
      class={isOpen ? undefined : 'unheld'}
      title={isOpen ? undefined : `needs a key with ${permission}`}
      aria-current={id === route.value.screen ? 'page' : undefined}
    >
      {name} {isOpen ? <kbd>g {key}</kbd> : <small>no key</small>}
    </a>
  );
}

function NoScreen() {
  return (
    <div class="empty">
      <h1>No such screen</h1>
      <p>
        <a href={address('tokens')}>Go to the tokens</a>
      </p>
    </div>
  );
}

/** Shows the page without a session. It contains no data of the vault. */
function Locked({ state }: { readonly state: Extract<SessionState, { readonly kind: 'confirm' | 'locked' }> }) {
  return (
    <main class="locked">
      <h1>
        <Mark size={24} /> vault
      </h1>
      {state.kind === 'confirm' && (
        <p role="status">
          Confirm <strong>{state.number}</strong> in the terminal.
        </p>
      )}
      {state.kind === 'locked' && (
        <>
          <p role="alert">{state.reason}</p>
          <WayBack {...state} />
        </>
      )}
    </main>
  );
}

/** Shows on every screen that the clock of the vault was moved. */
function ClockLine({ isDev }: { readonly isDev: boolean }) {
  useClock(isDev);
  const { offset_ms: offset = 0 } = clock.value ?? {};
  return (
    <p class="clock-line" role="status">
      {spanOf(offset) !== '' && (
        <a href={address('dev')}>
          Clock {spanOf(offset)} {offset > 0 ? 'ahead' : 'behind'}
        </a>
      )}
    </p>
  );
}

/** Shows the drawing of favicon.svg. It is inline, because an image file would need one more request. */
function Mark({ size }: { readonly size: number }) {
  return (
    <svg viewBox="0 0 18 18" width={size} height={size} aria-hidden="true">
      <rect width="18" height="18" rx="4" fill="#2a4bd7" />
      <g fill="none" stroke="#fff" stroke-width="1.6">
        <circle cx="9" cy="9" r="5" />
        <path d="M9 4v5m0 0-4.3 2.5M9 9l4.3 2.5" />
      </g>
    </svg>
  );
}
