import { useState } from 'preact/hooks';
import type { ExplainedGrant, ExplainedPermission } from '../../../contract/explanation.ts';
import { explainAccess } from '../../../core/access/explain-access.ts';
import { grantsOf, readersOf, useApplications } from '../applications.ts';
import { Sees, Wrong } from '../parts/pieces.tsx';
import { Table } from '../parts/table.tsx';
import { address } from '../route.ts';
import { isHeld } from '../session.ts';

interface SeenByOptions {
  /** The token as the JSON text that the vault sent. */
  readonly text: string;
  /** Whether the token is not stored yet. */
  readonly isDraft?: boolean;
}

/** The number of applications without a search, and the maximum number with one. */
const [FIRST, MAX_FOUND] = [5, 25];

const STRENGTHS = ['reveal', 'mask', 'redact', undefined] as const;

/**
 * Shows how applications that can read tokens see the given token, those that see most first. Decides with the same
 * function as the vault. Needs `application:read`.
 */
export function SeenBy({ text, isDraft }: SeenByOptions) {
  const [typed, setTyped] = useState('');
  const { value = [], error } = useApplications();
  if (!isHeld('application:read')) return null;
  const { id, containers = [] }: { readonly id: string; readonly containers?: readonly string[] } = JSON.parse(text);
  const seen = readersOf(value)
    .map((each) => ({ ...each, access: explainAccess(grantsOf(each, value), 'token:read', { id, containers }) }))
    .toSorted((a, b) => STRENGTHS.indexOf(a.access.transform) - STRENGTHS.indexOf(b.access.transform));
  const found = seen.filter(({ name, id: each }) => `${name} ${each}`.toLowerCase().includes(typed.toLowerCase()));
  const shown = found.slice(0, typed === '' ? FIRST : MAX_FOUND);
  return (
    <section>
      <h3>{isDraft ? 'Would be seen by' : 'Seen by'}</h3>
      <Wrong>{error}</Wrong>
      {seen.length > FIRST && (
        <p class="find">
          <input
            type="search"
            aria-label="Find an application"
            placeholder={`find among ${seen.length} applications`}
            autocomplete="off"
            value={typed}
            onInput={({ currentTarget: { value: next } }) => setTyped(next)}
          />
          <span class="note" role="status">
            {shown.length} of {found.length}
          </span>
        </p>
      )}
      {seen.length === 0 ? (
        <p class="note">No application can read tokens.</p>
      ) : (
        <Table
          caption="How applications see the token"
          heads={['Application', 'Sees', 'Because of']}
          rows={shown.map(({ id: app, name, access }) => [
            <a key="name" class="name" title={name} href={address('see-as', { app, token: isDraft ? '' : id })}>
              {name}
            </a>,
            <Sees key="sees" as={access.transform} />,
            becauseOf(access),
          ])}
        />
      )}
    </section>
  );
}

/** Returns the reason for a permission in two or three words. */
export function becauseOf({ own, creator, allowed }: ExplainedPermission): string {
  if (creator !== undefined && own.source !== 'nothing' && creator.transform !== own.transform) {
    return `its creator: ${sourceOf(creator)}`;
  }
  const source = sourceOf(own);
  return allowed || own.source === 'nothing' ? source : `${source} does not cover every container`;
}

function sourceOf({ source, rules }: ExplainedGrant): string {
  if (source === 'permission') return 'plain permission';
  const governing = rules.find(({ outcome }) => outcome === 'governs');
  return governing === undefined ? 'no grant' : `rule ${governing.priority}`;
}
