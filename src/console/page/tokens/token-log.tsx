import { useLoaded } from '../loaded.ts';
import { When, Wrong } from '../parts/pieces.tsx';
import { address } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

const ENTRIES = 5;

/** Shows the newest audit entries about the token, and a link to all of them. */
export function TokenLog({ id }: { readonly id: string }) {
  const isAllowed = isHeld('log:read');
  const { value, error } = useLoaded(isAllowed ? id : undefined, (signal) =>
    vault().listLogs({ query: { entity_id: id, size: ENTRIES }, signal }),
  );
  if (!isAllowed) return null;
  return (
    <section>
      <h3>
        Log <a href={address('audit', { entity: id })}>All of its history</a>
      </h3>
      <Wrong>{error}</Wrong>
      {value?.data.length === 0 && <p class="note">No entries. Lists and masked reads leave none by default.</p>}
      <ul class="log">
        {value?.data.map((entry) => (
          <li key={entry.id}>
            <When at={entry.created_at} /> <code>{entry.operation}</code> {entry.status}
            {entry.revealed && ' revealed'} <span class="soft">by {entry.actor_name ?? entry.actor_type}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
