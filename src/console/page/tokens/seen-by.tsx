import { useState } from 'preact/hooks';
import type { Application } from '../../../client/create-client.ts';
import { explainAccess } from '../../../core/access/explain-access.ts';
import { grantsOf, readersOf, useApplications } from '../applications.ts';
import { Sees, Wrong } from '../parts/pieces.tsx';
import { address } from '../route.ts';
import { becauseOf } from '../see-as/because-of.ts';
import { isHeld } from '../session.ts';

/** The number of applications that the page shows at first, and at most for a search. */
const SHOWN = 5;
const MAX_FOUND = 20;

interface SeenByOptions {
  /** The token as the JSON text that the vault sent. */
  readonly text: string;
  /** Whether the token is not stored yet. */
  readonly isDraft?: boolean;
}

/**
 * Shows how each application that can read tokens sees the given token. Decides with the same function as the vault.
 */
export function SeenBy({ text, isDraft }: SeenByOptions) {
  const { value, error } = useApplications();
  const { id, containers = [] }: { readonly id: string; readonly containers?: readonly string[] } = JSON.parse(text);
  const readers = readersOf(value ?? []);
  const [typed, setTyped] = useState('');
  const isFound = ({ name }: Application) => name.toLowerCase().includes(typed.trim().toLowerCase());
  const found = readers.filter(isFound).slice(0, typed === '' ? SHOWN : MAX_FOUND);
  return (
    <section>
      <h3>{isDraft ? 'Would be seen by' : 'Seen by'}</h3>
      <Wrong>{error}</Wrong>
      {!isHeld('application:read') && <p class="note">No key of the console holds application:read.</p>}
      {readers.length > SHOWN && (
        <input
          type="search"
          name="reader"
          aria-label="Find an application"
          placeholder={`find one of ${readers.length} applications`}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      {value !== undefined && (
        <table>
          <caption class="unseen">How applications see the token</caption>
          <thead>
            <tr>
              <th scope="col">Application</th>
              <th scope="col">Sees</th>
              <th scope="col">Because of</th>
            </tr>
          </thead>
          <tbody>
            {found.map((application) => {
              const explained = explainAccess(grantsOf(application, value), 'token:read', { id, containers });
              return (
                <tr key={application.id}>
                  <th scope="row">
                    <a href={address('see-as', { app: application.id, token: isDraft ? '' : id })}>
                      {application.name}
                    </a>
                  </th>
                  <td>
                    <Sees as={explained.transform} />
                  </td>
                  <td>{becauseOf(explained)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}
