import { useLoaded } from '../loaded.ts';
import { JsonView } from '../parts/json-view.tsx';
import { Pane } from '../parts/pane.tsx';
import { CopyButton, Wrong } from '../parts/pieces.tsx';
import { loadMasked } from '../vault.ts';
import { OwnView, useOwnAccess } from './own-access.tsx';
import { SeenBy } from './seen-by.tsx';
import { TokenActions } from './token-actions.tsx';
import { TokenLog } from './token-log.tsx';

interface PaneOptions {
  readonly id: string;
  readonly closed: string;
  /** The address of the form that changes the token. */
  readonly change: string;
}

/** Shows a token in masked form, its plaintext on request, the applications that see it, and its log. */
export function TokenPane({ id, closed, change }: PaneOptions) {
  const token = useLoaded(id, (signal) => loadMasked(id, signal));
  const access = useOwnAccess(id);
  return (
    <Pane
      title={<code>{id}</code>}
      subject={id}
      closed={closed}
      actions={
        token.error === undefined && <TokenActions {...{ id, closed, change }} allowed={access.value?.allowed} />
      }
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
