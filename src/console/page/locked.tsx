import { Mark } from './parts/mark.tsx';
import type { SessionState } from './session.ts';

/** Shows the page without a session. It contains no data of the vault. */
export function Locked({ state }: { readonly state: Extract<SessionState, { readonly kind: 'confirm' | 'locked' }> }) {
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
      {state.kind === 'locked' && <p role="alert">{state.reason}</p>}
    </main>
  );
}
