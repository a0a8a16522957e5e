import type { ExplainedPermission, TokenPermission } from '../../../contract/explanation.ts';
import { showsMore } from '../../../core/access/grants.ts';
import type { HeldIdentity } from '../../about.ts';
import { type Loaded, useLoaded } from '../loaded.ts';
import { Sees, Wrong } from '../parts/pieces.tsx';
import { Reveal } from '../parts/reveal.tsx';
import { actingAs, holdersOf, isHeld, keyName } from '../session.ts';
import { clientAs } from '../vault.ts';

/** The access of the console's own keys to a token, as the vault explains it. */
interface OwnAccess {
  /** The key that sees most of the token, and its permission to read it. */
  readonly own?: { readonly key: HeldIdentity; readonly read: ExplainedPermission };
  /** The permissions on the token that at least one key has. */
  readonly allowed: ReadonlySet<string>;
}

/** Asks the vault what the console's keys see of a token, and what they may do with it. */
export function useOwnAccess(id: string): Loaded<OwnAccess> {
  const keys = new Set(ASKED.flatMap(holdersOf));
  return useLoaded(`${id} ${[...keys].map(({ n }) => n)}`, async (signal) => {
    const allowed = new Set<string>();
    let own: OwnAccess['own'];
    for (const key of keys) {
      const { permissions } = await clientAs(key.n).explainAccess({ body: { token_id: id }, signal });
      for (const each of permissions) if (each.allowed) allowed.add(each.permission);
      const read = permissions.find(({ permission }) => permission === 'token:read');
      if (read !== undefined && (own === undefined || isMore(read, own.read))) own = { key, read };
      // The audit records a denial for each key that cannot read the token.
      if (own?.read.transform === 'reveal' && ASKED.every((each) => allowed.has(each))) break;
    }
    return { allowed, ...(own && { own }) };
  });
}

const ASKED: readonly TokenPermission[] = ['token:read', 'token:update', 'token:delete'];

function isMore({ transform }: ExplainedPermission, than: ExplainedPermission): boolean {
  return transform !== undefined && (than.transform === undefined || showsMore(transform, than.transform));
}

interface OwnOptions {
  readonly id: string;
  readonly access: Loaded<OwnAccess>;
}

/** Shows what the console's key sees of a token, why, and the plaintext on request if the key reveals it. */
export function OwnView({ id, access: { value, error, isLoading } }: OwnOptions) {
  if (error !== undefined) return <Wrong>{error}</Wrong>;
  if (isLoading) return null;
  if (value?.own === undefined) return <p class="note">No key of this console holds token:read.</p>;
  const { key, read } = value.own;
  return (
    <section class="own">
      <h3>{actingAs.value === undefined ? 'Your key' : 'The chosen key'}</h3>
      <p>
        <b>{keyName(key)}</b> sees <Sees as={read.transform} /> <span class="note">{read.reason}</span>
      </p>
      {read.transform === 'reveal' ? <Reveal id={id} as={key.n} /> : isHeld('application:read') && <OthersNote />}
    </section>
  );
}

function OthersNote() {
  return <p class="note">It cannot reveal the plaintext. Seen by lists the applications that can.</p>;
}
