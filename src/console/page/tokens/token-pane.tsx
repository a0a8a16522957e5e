import type { TokenPermission } from '../../../contract/explanation.ts';
import { reload, useLoaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { KeyButton } from '../parts/controls.tsx';
import { JsonView } from '../parts/json.tsx';
import { Pane } from '../parts/pane.tsx';
import { CopyButton, toast, When, Wrong } from '../parts/pieces.tsx';
import { address, go, here } from '../route.ts';
import { isHeld } from '../session.ts';
import { loadMasked, vault } from '../vault.ts';
import { OwnView, useOwnAccess } from './own-access.tsx';
import { SeenBy } from './seen-by.tsx';

/** Shows a token in masked form, its plaintext on request, the applications that see it, and its log. */
export function TokenPane({ id }: { readonly id: string }) {
  const token = useLoaded(id, (signal) => loadMasked(id, signal));
  const access = useOwnAccess(id);
  return (
    <Pane
      title={<code>{id}</code>}
      subject={id}
      closed={here({ token: undefined })}
      actions={token.error === undefined && <TokenActions id={id} allowed={access.value?.allowed} />}
    >
      <Wrong>{token.error}</Wrong>
      {token.value !== undefined && !token.isLoading && (
        <>
          <OwnView id={id} access={access} />
          <section>
            <h3>
              Masked <CopyButton text={token.value} />
            </h3>
            <JsonView text={token.value} />
          </section>
          <SeenBy text={token.value} />
          <TokenLog id={id} />
        </>
      )}
    </Pane>
  );
}

const ENTRIES = 5;

/** Shows the newest audit entries about the token, and a link to all of them. */
function TokenLog({ id }: { readonly id: string }) {
  const isAllowed = isHeld('log:read');
  const { value, error } = useLoaded(isAllowed ? id : undefined, (signal) =>
    vault.listLogs({ query: { entity_id: id, size: ENTRIES }, signal }),
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

interface ActionsOptions {
  readonly id: string;
  /** The permissions of the console's keys on the token; undefined while they are unknown. */
  readonly allowed: ReadonlySet<string> | undefined;
}

/** Shows the actions on a token. */
function TokenActions({ id, allowed }: ActionsOptions) {
  const may = (permission: TokenPermission) => allowed?.has(permission) ?? isHeld(permission);

  async function remove() {
    await vault.deleteToken({ params: { id } });
    toast('Token deleted');
    reload();
    go(here({ token: undefined }), 'replace');
  }

  return (
    <>
      {may('token:update') && <KeyButton name="Edit" shortcut="e" act={() => go(here({ draft: 'change' }))} />}
      {may('token:delete') && (
        <ConfirmButton
          button={{ class: 'danger', children: 'Delete' }}
          action="Delete the token"
          word={id}
          command={{ operation: 'deleteToken', params: { id } }}
          onConfirm={remove}
        >
          <p>The data cannot be restored. A backup may still contain it.</p>
        </ConfirmButton>
      )}
      <AsCommand of={{ operation: 'getToken', params: { id }, query: { transform: 'mask' } }} />
    </>
  );
}
