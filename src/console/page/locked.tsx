import type { SessionState } from './session.ts';

/** Shows the page without a session. It contains no data of the vault. */
export function Locked({ state }: { readonly state: Exclude<SessionState, { readonly kind: 'open' }> }) {
  if (state.kind === 'opening') return <EmptyShell />;
  return (
    <main class="locked">
      <h1>
        <img src="/ui/favicon.svg" alt="" width="24" height="24" /> vault
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

/** Repeats the shell of index.html. */
function EmptyShell() {
  return (
    <div class="shell">
      <nav class="side" aria-label="Screens">
        <span class="brand">vault</span>
      </nav>
      <main />
    </div>
  );
}
