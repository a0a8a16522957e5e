import type { DevFault } from '../../../contract/dev-paths.ts';
import { useLoaded } from '../loaded.ts';
import { Button, Form, Select } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { ask } from '../session.ts';
import { useControl } from './control.ts';

/** The kinds of faults, with their request members and flags. */
const KINDS: Readonly<Record<string, { readonly body: object; readonly flags: string }>> = {
  ...Object.fromEntries(
    [429, 503, 500, 507, 409, 408, 404, 403, 401].map((status) => [
      `reply ${status}`,
      { body: { status }, flags: ` --status ${status}` },
    ]),
  ),
  'no reply': { body: { drop: true }, flags: ' --drop' },
  'delay only': { body: {}, flags: '' },
};

/** Shows the faults that are set, and a form that adds a fault. */
export function Faults() {
  const { act, error } = useControl();
  const faults = useLoaded('faults', (signal) => ask<{ readonly data: readonly DevFault[] }>('dev/faults', { signal }));
  const { data = [] } = faults.value ?? {};

  function add(form: HTMLFormElement) {
    const [request, kind, times, delay] = ['request', 'kind', 'times', 'delay'].map((name) =>
      String(new FormData(form).get(name)).trim(),
    );
    const { body, flags } = KINDS[kind ?? ''] ?? { body: {}, flags: '' };
    const later = delay === '' ? {} : { delay_ms: Number(delay) };
    const command = `vault dev faults set '${request}'${flags} --times ${times}${delay && ` --delay ${delay}ms`}`;
    void act(command, () =>
      ask('dev/faults', { method: 'POST', body: { request, times: Number(times), ...body, ...later } }),
    );
  }

  return (
    <section aria-labelledby="dev-faults">
      <h2 id="dev-faults">Faults</h2>
      <ul class="chips" aria-label="Faults that remain">
        {data.map((fault, at) => (
          <li key={at}>
            <code>{fault.request}</code> {textOf(fault)}
          </li>
        ))}
        {faults.value !== undefined && data.length === 0 && <li class="soft">none</li>}
      </ul>
      <Form class="buttons" onSend={add}>
        <input name="request" required defaultValue="POST /tokens" aria-label="Method and path" />
        <Select name="kind" aria-label="Effect" options={Object.keys(KINDS)} />
        <input name="times" type="number" min="1" defaultValue="1" required aria-label="Times" title="Times" />
        <input name="delay" type="number" min="0" placeholder="ms" aria-label="Delay in ms" title="Delay in ms" />
        <button type="submit">Add</button>
        <Button
          disabled={data.length === 0}
          onClick={() => void act('vault dev faults clear', () => ask('dev/faults', { method: 'DELETE' }))}
        >
          Clear
        </Button>
      </Form>
      <Wrong>{error ?? faults.error}</Wrong>
    </section>
  );
}

function textOf({ status, drop, delay_ms: delay, times }: DevFault): string {
  const what = drop ? 'no reply' : (status ?? 'late');
  return `→ ${what}${delay === undefined ? '' : ` after ${delay} ms`} ×${times}`;
}
