import { useState } from 'preact/hooks';
import { reload } from './loaded.ts';
import { Wrong } from './parts/pieces.tsx';
import { actingAs, addKey, type HeldIdentity } from './session.ts';

/**
 * Shows the choice of the API key for calls, and a field to paste another key. The server half keeps the keys in
 * memory.
 */
export function IdentityChoice({ identities }: { readonly identities: readonly HeldIdentity[] }) {
  const [isAdding, setAdding] = useState(false);
  const [wrong, setWrong] = useState<string>();

  async function add(event: SubmitEvent) {
    event.preventDefault();
    const { currentTarget: form } = event;
    if (!(form instanceof HTMLFormElement)) return;
    const key = String(new FormData(form).get('key'));
    form.reset();
    const refused = await addKey(key);
    setWrong(refused);
    setAdding(refused !== undefined);
    reload();
  }

  return (
    <>
      <label class="acting">
        Acting as
        <select
          value={String(actingAs.value ?? '')}
          onChange={({ currentTarget: { value } }) => {
            actingAs.value = value === '' ? undefined : Number(value);
            reload();
          }}
        >
          <option value="">any suitable key</option>
          {identities.map(({ n, name, type, id }) => (
            <option key={n} value={n}>
              {name ?? id ?? `key ${n + 1}`} {type && `(${type})`}
            </option>
          ))}
        </select>
      </label>
      {isAdding || identities.length === 0 ? (
        <form onSubmit={add}>
          <label>
            API key
            <input name="key" type="password" autocomplete="off" spellcheck={false} required />
          </label>
          <button type="submit">Use this key</button>
          <Wrong>{wrong}</Wrong>
        </form>
      ) : (
        <button type="button" onClick={() => setAdding(true)}>
          Add a key
        </button>
      )}
    </>
  );
}
