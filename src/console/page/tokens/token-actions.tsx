import type { TokenPermission } from '../../../contract/explanation.ts';
import { reload } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { KeyButton } from '../parts/controls.tsx';
import { toast } from '../parts/toast.tsx';
import { ConfirmButton } from '../parts/typed-confirm.tsx';
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
  const may = (permission: TokenPermission) => allowed?.has(permission) ?? isHeld(permission);

  async function remove() {
    await vault().deleteToken({ params: { id } });
    toast('Token deleted');
    reload();
    go(closed, 'replace');
  }

  return (
    <>
      {may('token:update') && <KeyButton name="Edit" shortcut="e" act={() => go(change)} />}
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
