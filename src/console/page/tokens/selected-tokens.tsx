import { shellWord } from '../../../client/shell-word.ts';
import { messageOf, reload } from '../loaded.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Button } from '../parts/controls.tsx';
import { memberText } from '../parts/json.tsx';
import { counted } from '../parts/numbers.ts';
import { toast } from '../parts/pieces.tsx';
import type { Selection } from '../parts/rows.tsx';
import { isHeld } from '../session.ts';
import { jsonText, vault } from '../vault.ts';

/** The number of tokens per request of an export. */
const AT_ONCE = 20;

/** Shows how many tokens are selected, and exports or deletes them. */
export function SelectedTokens({ ids, set }: Selection) {
  if (ids.size === 0) return null;
  const all = [...ids];
  const name = counted(all.length, 'token');

  async function remove() {
    const left = new Set(all);
    try {
      for (const id of all) {
        await vault.deleteToken({ params: { id } });
        left.delete(id);
      }
    } finally {
      set(left);
      reload();
    }
    toast(`Deleted ${name}`);
  }

  return (
    <section class="tools" aria-label="Selected tokens">
      <span role="status">{name} selected</span>
      <Button onClick={() => save(all).catch((error) => toast(messageOf(error)))}>Export, masked</Button>
      {isHeld('token:delete') && (
        <ConfirmButton
          button={{ class: 'danger', children: 'Delete' }}
          action={`Delete ${name}`}
          word={name}
          command={{ text: 'vault tokens delete', needs: 'token:delete', last: `-- ${all.map(shellWord).join(' ')}` }}
          onConfirm={remove}
        >
          <p>The data cannot be restored. A backup may still contain it.</p>
        </ConfirmButton>
      )}
      <Button class="quiet" onClick={() => set(new Set())}>
        Select none
      </Button>
    </section>
  );
}

/** Saves the masked tokens as a JSON file. Keeps the vault's notation of numbers. */
async function save(ids: readonly string[]): Promise<void> {
  const lists: string[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE).map((id) => ['id', id]);
    const query = new URLSearchParams([...some, ['transform', 'mask'], ['size', String(AT_ONCE)]]);
    lists.push((memberText(await jsonText(`/v2/tokens?${query}`), 'data') ?? '[]').slice(1, -1));
  }
  const file = new Blob([`[${lists.filter((list) => list !== '').join(',\n')}]\n`], { type: 'application/json' });
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = 'tokens-masked.json';
  link.click();
  URL.revokeObjectURL(link.href);
}
