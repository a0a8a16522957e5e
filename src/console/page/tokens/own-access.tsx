import type { ExplainedPermission, TokenPermission } from '../../../contract/explanation.ts';
import { showsMore } from '../../../core/access/grants.ts';
import { type Loaded, useLoaded } from '../loaded.ts';
import { Sees, Wrong } from '../parts/pieces.tsx';
import { Reveal } from '../parts/reveal.tsx';
import { actingAs, type HeldIdentity, holdersOf, isHeld, keyName } from '../session.ts';
import { explainOwn } from '../vault.ts';

/** The access of the console's own key to a token, as the vault explains it. */
interface OwnAccess {
  readonly key: HeldIdentity;
  readonly read: ExplainedPermission;
}

/** Asks the vault what the console's keys see of a token. The value is the access of the key that sees most. */
export function useOwnAccess(id: string): Loaded<OwnAccess | undefined> {
  const keys = holdersOf('token:read');
  return useLoaded(`${id} ${keys.map(({ n }) => n)}`, async (signal) => {
    let best: OwnAccess | undefined;
    for (const key of keys) {
      const { permissions } = await explainOwn(id, key.n, signal);
      const read = permissions.find(({ permission }) => permission === READ);
      if (read !== undefined && (best === undefined || isMore(read, best.read))) best = { key, read };
      if (read?.transform === 'reveal') break;
    }
    return best;
  });
}

const READ: TokenPermission = 'token:read';

function isMore({ transform }: ExplainedPermission, than: ExplainedPermission): boolean {
  return transform !== undefined && (than.transform === undefined || showsMore(transform, than.transform));
}

interface OwnOptions {
  readonly id: string;
  readonly access: Loaded<OwnAccess | undefined>;
}

/** Shows what the console's key sees of a token, why, and the plaintext on request if the key reveals it. */
export function OwnView({ id, access: { value, error, isLoading } }: OwnOptions) {
  const { key, read } = value ?? {};
  if (error !== undefined) return <Wrong>{error}</Wrong>;
  if (isLoading) return null;
  if (key === undefined || read === undefined) return <p class="note">No key of this console holds token:read.</p>;
  return (
    <section class="own">
      <h3>{actingAs.value === undefined ? 'Your key' : 'The chosen key'}</h3>
      <p>
        <b class="whole">{keyName(key)}</b> sees <Sees as={read.transform} /> <span class="note">{read.reason}</span>
      </p>
      {read.transform === 'reveal' ? <Reveal id={id} as={key.n} /> : isHeld('application:read') && <OthersNote />}
    </section>
  );
}

function OthersNote() {
  return <p class="note">It cannot reveal the plaintext. Seen by lists the applications that can.</p>;
}
