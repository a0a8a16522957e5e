import type { Application } from '../../../client/create-client.ts';
import { isCreator } from '../applications.ts';
import { reload } from '../loaded.ts';
import { showNewKey } from '../new-key.tsx';
import { Time } from '../parts/pieces.tsx';
import { toast } from '../parts/toast.tsx';
import { ConfirmButton } from '../parts/typed-confirm.tsx';
import { go } from '../route.ts';
import { aboutSession } from '../session.ts';
import { vault } from '../vault.ts';

interface EndKeyOptions {
  readonly how: 'regenerate' | 'delete';
  readonly application: Application;
  readonly all: readonly Application[];
  /** The address to go to after a deletion. */
  readonly closed: string;
}

/**
 * Shows a button that asks for the application's name, then deletes it or replaces its keys. Both end its keys at once.
 */
export function EndKey({ how, application, all, closed }: EndKeyOptions) {
  const { id, name } = application;
  const isDelete = how === 'delete';
  const isOwn = aboutSession()?.identities.some((each) => each.id === id);
  const children = all.filter((each) => isCreator(application, each));

  async function confirm() {
    if (isDelete) {
      await vault().deleteApplication({ params: { id } });
      toast(`${name} deleted`);
      go(closed, 'replace');
    } else showNewKey(await vault().regenerateApplicationKey({ params: { id } }));
    reload();
  }

  return (
    <ConfirmButton
      button={isDelete ? { class: 'danger', children: 'Delete' } : { children: 'Regenerate key' }}
      action={isDelete ? 'Delete the application' : 'Regenerate the key'}
      word={name}
      command={
        isDelete
          ? { operation: 'deleteApplication', params: { id } }
          : { operation: 'regenerateApplicationKey', params: { id }, more: '--key-out FILE' }
      }
      onConfirm={confirm}
    >
      <p>
        All API keys of <b>{name}</b> stop working at once.{' '}
        {isDelete ? 'Its tokens remain.' : 'The new key is shown once.'}
      </p>
      {isOwn && <p class="warning">This console uses one of them and will lose its access.</p>}
      {children.length > 0 && (
        <>
          <p>These expiring applications end, too:</p>
          <ul>
            {children.map((child) => (
              <li key={child.id}>
                {child.name}, ends <Time at={child.expires_at} /> at the latest
              </li>
            ))}
          </ul>
        </>
      )}
    </ConfirmButton>
  );
}
