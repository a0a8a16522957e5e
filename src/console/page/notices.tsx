import type { Permission } from '../../contract/permissions.ts';
import type { HeldIdentity } from '../about.ts';
import { outage, tryNow } from './outage.ts';
import { Button } from './parts/controls.tsx';
import { CopyButton } from './parts/pieces.tsx';
import { aboutSession, actingAs, forgetKeys, isAddingKey, keyName, type SessionState } from './session.ts';

/** Shows that the vault does not answer, and counts the seconds to the next try. */
export function OutageLine() {
  const { value } = outage;
  if (value === undefined) return null;
  return (
    <div class="notice" role="alert">
      <h1 class="unseen">No answer</h1>
      <span>{value.reason} This data may be outdated.</span>{' '}
      <span aria-live="off">{value.wait > 0 ? `Next try in ${value.wait} s.` : 'Trying…'}</span>{' '}
      <Button onClick={tryNow} disabled={value.wait === 0}>
        Try now
      </Button>
    </div>
  );
}

/** Names the keys that the vault no longer accepts, with the remedy. */
export function EndedKeys({ identities }: { readonly identities: readonly HeldIdentity[] }) {
  const ended = identities.filter((each) => each.ended);
  if (ended.length === 0) return null;
  const isOne = ended.length === 1;
  return (
    <div class="notice" role="status">
      <span>
        {isOne ? 'The API key of' : 'The API keys of'} <b>{ended.map(keyName).join(' and ')}</b> no longer{' '}
        {isOne
          ? 'works: it was deleted or regenerated, or has expired.'
          : 'work: they were deleted or regenerated, or have expired.'}
      </span>{' '}
      <Button onClick={() => (isAddingKey.value = true)}>Add a key</Button>{' '}
      <Button onClick={() => void forgetKeys(ended)}>Forget {isOne ? 'it' : 'them'}</Button>
    </div>
  );
}

/** Replaces a screen that no key may open. */
export function NeedsKey({ name, permission }: { readonly name: string; readonly permission: Permission }) {
  const isChosen = actingAs.value !== undefined;
  const isEnded = aboutSession()?.identities.some(({ n, ended }) => n === actingAs.value && ended);
  return (
    <div class="list">
      <header>
        <h1>{name}</h1>
      </header>
      <div class="empty">
        <p>
          {isEnded ? (
            'The chosen key no longer works.'
          ) : (
            <>
              {isChosen ? 'The chosen key does not hold' : 'No API key of the console holds'} <code>{permission}</code>.
            </>
          )}
        </p>
        <p class="buttons">
          {isChosen && <Button onClick={() => (actingAs.value = undefined)}>Use any key</Button>}
          <Button class="main" onClick={() => (isAddingKey.value = true)}>
            Add a key
          </Button>
        </p>
      </div>
    </div>
  );
}

/** Shows how to open the console again. */
export function WayBack({ commands }: Extract<SessionState, { readonly kind: 'locked' }>) {
  const isDev = commands !== undefined && commands.vault === undefined;
  const ui = commands?.console ?? 'vault ui';
  return (
    <>
      <p>To come back:</p>
      {!isDev && (
        <p>
          Run <code>{ui}</code> <CopyButton text={ui} /> and open its link.
        </p>
      )}
      {(isDev || commands === undefined) && (
        <p>
          For a dev daemon, open the link again that <code>{isDev ? commands.console : 'vault serve --dev'}</code>{' '}
          printed as <code>ui</code>.
        </p>
      )}
    </>
  );
}
