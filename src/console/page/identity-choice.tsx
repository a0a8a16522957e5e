import { useEffect, useRef, useState } from 'preact/hooks';
import type { HeldIdentity } from '../about.ts';
import { reload } from './loaded.ts';
import { Button, Form, Select } from './parts/controls.tsx';
import { Wrong } from './parts/pieces.tsx';
import { actingAs, addKey, isAddingKey, keyName } from './session.ts';

/**
 * Shows whose key the console uses, the choice among several, and a field to paste another one. The server half keeps
 * the keys in memory.
 */
export function IdentityChoice({ identities }: { readonly identities: readonly HeldIdentity[] }) {
  const field = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState<string>();
  const isAsking = isAddingKey.value || identities.length === 0;
  const [first] = identities;
  useEffect(() => {
    if (isAddingKey.value) field.current?.focus();
  }, [isAddingKey.value]);

  async function add(form: HTMLFormElement) {
    const key = String(new FormData(form).get('key'));
    form.reset();
    const refused = await addKey(key);
    setWrong(refused);
    isAddingKey.value = refused !== undefined;
    reload();
  }

  return (
    <>
      {first !== undefined && identities.length === 1 && (
        <p class="signed">
          Signed in as <b title={first.id}>{stateOf(first)}</b>
        </p>
      )}
      {identities.length > 1 && (
        <label class="acting">
          Signed in as
          <Select
            value={String(actingAs.value ?? '')}
            options={[
              ['', `${identities.length} keys, as needed`],
              ...identities.map((each) => [String(each.n), stateOf(each)] as const),
            ]}
            choose={(value) => {
              actingAs.value = value === '' ? undefined : Number(value);
              reload();
            }}
          />
        </label>
      )}
      {isAsking ? (
        <Form onSend={add}>
          <label>
            API key
            <input ref={field} name="key" type="password" required />
          </label>
          <button type="submit">Use this key</button>
          <Wrong>{wrong}</Wrong>
        </Form>
      ) : (
        <Button onClick={() => (isAddingKey.value = true)}>Add a key</Button>
      )}
    </>
  );
}

const stateOf = (key: HeldIdentity): string => `${keyName(key)}${key.ended ? ': no longer works' : ''}`;
