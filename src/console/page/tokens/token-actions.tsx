import { useState } from 'preact/hooks';
import type { TokenPermission } from '../../../contract/explanation.ts';
import { useKeys } from '../keys.ts';
import { reload } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { Button } from '../parts/controls.tsx';
import { toast } from '../parts/toast.tsx';
import { TypedConfirm } from '../parts/typed-confirm.tsx';
import { go } from '../route.ts';
import { isHeld } from '../session.ts';
import { vault } from '../vault.ts';

interface ActionsOptions {
  readonly id: string;
  readonly closed: string;
  /** The address of the form that changes the token. */
  readonly change: string;
  /** The permissions of the console's keys on the token; undefined while they are unknown. */
  readonly allowed: ReadonlySet<string> | undefined;
}

/** Shows the actions on a token. */
export function TokenActions({ id, closed, change, allowed }: ActionsOptions) {
  const [isDeleting, setDeleting] = useState(false);
  const may = (permission: TokenPermission) => allowed?.has(permission) ?? isHeld(permission);
  const mayChange = may('token:update');
  const edit = () => go(change);
  useKeys(mayChange ? { e: edit } : {});

  async function remove() {
    await vault().deleteToken({ params: { id } });
    toast('Token deleted');
    reload();
    go(closed, 'replace');
  }

  return (
    <>
      {mayChange && (
        <Button onClick={edit}>
          Edit <kbd>e</kbd>
        </Button>
      )}
      {may('token:delete') && (
        <Button class="danger" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      )}
      {isDeleting && (
        <TypedConfirm
          action="Delete the token"
          word={id}
          command={{ operation: 'deleteToken', params: { id } }}
          onConfirm={remove}
          onClose={() => setDeleting(false)}
        >
          <p>The data cannot be restored. A backup may still contain it.</p>
        </TypedConfirm>
      )}
      <AsCommand of={{ operation: 'getToken', params: { id }, query: { transform: 'mask' } }} />
    </>
  );
}
