import { useState } from 'preact/hooks';
import type { Application, ApplicationKey } from '../../../client/create-client.ts';
import { messageOf, reload, useLoaded } from '../loaded.ts';
import { showNewKey } from '../new-key.tsx';
import { Button } from '../parts/controls.tsx';
import { Time, TimeAfter, Wrong } from '../parts/pieces.tsx';
import { toast } from '../parts/toast.tsx';
import { TypedConfirm } from '../parts/typed-confirm.tsx';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

/** Lists the API keys of an application. A new key works beside the others, so that clients can change to it. */
export function ApplicationKeys({ application }: { readonly application: Application }) {
  const { id, type } = application;
  const [ending, setEnding] = useState<ApplicationKey>();
  const [wrong, setWrong] = useState<string>();
  const { value: keys, error } = useLoaded(`keys ${id}`, (signal) =>
    vault().listApplicationKeys({ params: { id }, signal }),
  );
  const mayChange = isHeld('application:update');

  async function add() {
    try {
      const { key } = await vault().createApplicationKey({ params: { id } });
      setWrong(undefined);
      showNewKey(
        { ...application, key },
        { operation: 'createApplicationKey', params: { id }, more: '--key-out FILE' },
      );
      reload();
    } catch (failure) {
      setWrong(messageOf(failure));
    }
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
              <Button class="quiet" aria-label={`Delete key ${key.version}`} onClick={() => setEnding(key)}>
                Delete
              </Button>
            )}
          </li>
        ))}
      </ul>
      <Wrong>{wrong ?? error}</Wrong>
      {mayChange && type !== 'expiring' && <Button onClick={add}>Add key</Button>}
      {ending !== undefined && (
        <DeleteKey application={application} ended={ending} onClose={() => setEnding(undefined)} />
      )}
    </section>
  );
}

interface DeleteKeyOptions {
  readonly application: Application;
  readonly ended: ApplicationKey;
  readonly onClose: () => void;
}

/** Asks for the application's name, then deletes one of its keys. */
function DeleteKey({ application: { id, name }, ended, onClose }: DeleteKeyOptions) {
  async function confirm() {
    await vault().deleteApplicationKey({ params: { id, key_id: ended.id } });
    toast(`Key ${ended.version} deleted`);
    reload();
  }

  return (
    <TypedConfirm
      action={`Delete key ${ended.version}`}
      word={name}
      command={{ operation: 'deleteApplicationKey', params: { id, key_id: ended.id } }}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        Key {ended.version} of <b>{name}</b> stops working at once, and so do the expiring applications that it created.
      </p>
    </TypedConfirm>
  );
}
