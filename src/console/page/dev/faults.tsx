import type { DevFault } from '../../../contract/dev-paths.ts';
import { useLoaded } from '../loaded.ts';
import { Button } from '../parts/controls.tsx';
import { Wrong } from '../parts/pieces.tsx';
import { askDev, useControl } from './ask-dev.ts';

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
  const faults = useLoaded('faults', (signal) =>
    askDev<{ readonly data: readonly DevFault[] }>('GET', 'faults', undefined, signal),
  );
  const { data = [] } = faults.value ?? {};

  function add(event: SubmitEvent) {
    event.preventDefault();
    const { currentTarget: form } = event;
    if (!(form instanceof HTMLFormElement)) return;
    const [request, kind, times, delay] = ['request', 'kind', 'times', 'delay'].map((name) =>
      String(new FormData(form).get(name)).trim(),
    );
    const { body, flags } = KINDS[kind ?? ''] ?? { body: {}, flags: '' };
    const later = delay === '' ? {} : { delay_ms: Number(delay) };
    const command = `vault dev faults set '${request}'${flags} --times ${times}${delay && ` --delay ${delay}ms`}`;
    void act(command, () => askDev('POST', 'faults', { request, times: Number(times), ...body, ...later }));
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
        {faults.value !== undefined && data.length === 0 && <li class="none">none</li>}
      </ul>
      <form class="buttons" onSubmit={add}>
        <input name="request" required defaultValue="POST /tokens" spellcheck={false} aria-label="Method and path" />
        <select name="kind" aria-label="Effect">
          {Object.keys(KINDS).map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
        <input name="times" type="number" min="1" defaultValue="1" required aria-label="Times" title="Times" />
        <input name="delay" type="number" min="0" placeholder="ms" aria-label="Delay in ms" title="Delay in ms" />
        <button type="submit">Add</button>
        <Button
          disabled={data.length === 0}
          onClick={() => void act('vault dev faults clear', () => askDev('DELETE', 'faults'))}
        >
          Clear
        </Button>
      </form>
      <Wrong>{error ?? faults.error}</Wrong>
    </section>
  );
}

function textOf({ status, drop, delay_ms: delay, times }: DevFault): string {
  const what = drop ? 'no reply' : (status ?? 'late');
  return `→ ${what}${delay === undefined ? '' : ` after ${delay} ms`} ×${times}`;
}
