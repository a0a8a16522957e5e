import { useState } from 'preact/hooks';
import type { Token } from '../../../client/create-client.ts';
import { useLoaded } from '../loaded.ts';
import { AsCommand } from '../parts/as-command.tsx';
import { Draft, useDraft } from '../parts/draft.tsx';
import { JsonView } from '../parts/json.tsx';
import { toast, Wrong } from '../parts/pieces.tsx';
import { go, here } from '../route.ts';
import { loadMasked, sendText, tokenPath } from '../vault.ts';
import { EMPTY_DRAFT, patchText, type TokenDraft } from './token-draft.ts';
import { TokenFields } from './token-fields.tsx';

const KEPT = 'Leave empty to keep it; null removes it. This form cannot show the current value.';

const NOTES = {
  data: 'Leave empty to keep it. JSON is merged, and a null removes a member. Text replaces it.',
  mask: KEPT,
  search_indexes: `One per line. ${KEPT}`,
  fingerprint_expression: KEPT,
  containers: 'One per line. Clear the field to restore the default of the type.',
  metadata: 'name=value, one per line',
  expires_at: 'Clear the field to remove it.',
};

/** Shows a form that changes a token by a merge patch, and shows the patch before it is sent. */
export function ChangeToken({ id }: { readonly id: string }) {
  const { value, error } = useLoaded(id, (signal) => loadMasked(id, signal));
  if (value === undefined) return <div class="list">{error !== undefined && <Wrong>{error}</Wrong>}</div>;
  return <ChangeForm key={id} id={id} token={JSON.parse(value)} />;
}

interface ChangeOptions {
  readonly id: string;
  readonly token: Token;
}

function ChangeForm({ id, token }: ChangeOptions) {
  const [start] = useState(() => draftOf(token));
  const { draft, change, refused, send } = useDraft(() => start);
  const patch = patchText(start, draft);

  async function save() {
    const init = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } };
    await sendText(tokenPath(id), patch, init);
    toast('Token changed');
    go(here({ draft: undefined }), 'replace');
  }

  return (
    <Draft
      title={
        <>
          Edit <code>{id}</code>
        </>
      }
      action="Save"
      isReady={patch !== '{}'}
      onSubmit={() => send(save)}
      previewTitle="Merge patch"
      preview={
        <>
          {patch === '{}' ? <p class="note">No changes yet.</p> : <JsonView text={patch} />}
          <AsCommand of={{ operation: 'updateToken', params: { id }, body: 'FILE' }} />
        </>
      }
    >
      <Wrong>{refused?.message}</Wrong>
      <TokenFields draft={draft} errors={refused?.errors ?? {}} change={change} notes={NOTES} hasDefaults={false} />
    </Draft>
  );
}

/** Returns a draft with the readable members of a token. */
function draftOf({ type, containers = [], metadata = {}, expires_at = '' }: Token): TokenDraft {
  const text = Object.entries(metadata).map((pair) => pair.join('='));
  return { ...EMPTY_DRAFT, type, containers: containers.join('\n'), metadata: text.join('\n'), expires_at };
}
