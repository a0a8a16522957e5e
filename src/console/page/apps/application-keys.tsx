import type { Application, ApplicationKey } from '../../../client/create-client.ts';
import { reload, useAction, useLoaded } from '../loaded.ts';
import { showNewKey } from '../new-key.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Button } from '../parts/controls.tsx';
import { Time, TimeAfter, toast, Wrong } from '../parts/pieces.tsx';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

/** Lists the API keys of an application. A new key works beside the others, so that clients can change to it. */
export function ApplicationKeys({ application }: { readonly application: Application }) {
  const { id, name, type } = application;
  const { act, error: wrong } = useAction();
  const { value: keys, error } = useLoaded(`keys ${id}`, (signal) =>
    vault.listApplicationKeys({ params: { id }, signal }),
  );
  const mayChange = isHeld('application:update');

  async function add() {
    const { key } = await vault.createApplicationKey({ params: { id } });
    showNewKey({ ...application, key }, { operation: 'createApplicationKey', params: { id }, more: '--key-out FILE' });
    reload();
  }

  async function remove(key: ApplicationKey) {
    await vault.deleteApplicationKey({ params: { id, key_id: key.id } });
    toast(`Key ${key.version} deleted`);
    reload();
  }

  return (
    <section aria-labelledby="keys-title">
      <h3 id="keys-title">API keys</h3>
      {keys?.length === 0 && <p class="note">None: the application cannot call.</p>}
      <ul class="log api-keys">
        {keys?.map((key) => (
          <li key={key.id}>
            <span>
              <b>Key {key.version}</b> created <Time at={key.created_at} />
              <TimeAfter what="ends" at={key.expires_at} />{' '}
              <span class="note">
                {key.last_used_on === undefined ? 'not used' : `last used on ${key.last_used_on}`}
              </span>
            </span>
            {mayChange && (
              <ConfirmButton
                button={{ class: 'quiet', 'aria-label': `Delete key ${key.version}`, children: 'Delete' }}
                action={`Delete key ${key.version}`}
                word={name}
                command={{ operation: 'deleteApplicationKey', params: { id, key_id: key.id } }}
                onConfirm={() => remove(key)}
              >
                <p>
                  Key {key.version} of <b>{name}</b> stops working at once, and so do the expiring applications that it
                  created.
                </p>
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
      <Wrong>{wrong ?? error}</Wrong>
      {mayChange && type !== 'expiring' && <Button onClick={() => act(add)}>Add key</Button>}
    </section>
  );
}
