import { useEffect, useState } from 'preact/hooks';
import { Button, Form } from '../parts/controls.tsx';
import { wholeNumber } from '../parts/numbers.ts';
import { Wrong } from '../parts/pieces.tsx';
import { ask } from '../session.ts';
import { type ClockState, clock, spanOf } from './clock-state.ts';
import { useControl } from './control.ts';

const HOUR_MS = 3_600_000;

/** Shows the time of the vault and the buttons that move it. */
export function VaultClock() {
  const { act, error } = useControl();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const { offset_ms: offset = 0, next_expiry: next, removed } = clock.value ?? {};

  const move = (command: string, method: 'POST' | 'PUT' | 'DELETE', body?: object) =>
    act(`vault dev clock ${command}`, async () => {
      clock.value = await ask<ClockState>('dev/clock', { method, ...(body && { body }) });
      setNow(Date.now());
    });
  const set = (time: string) => move(`set ${time}`, 'PUT', { now: time });
  const advance = (command: string, ms: number) => move(`advance ${command}`, 'POST', { advance_ms: ms });

  const setTyped = (form: HTMLFormElement) => set(new Date(String(new FormData(form).get('time'))).toISOString());

  return (
    <section aria-labelledby="dev-clock">
      <h2 id="dev-clock">Clock</h2>
      <div class="buttons">
        <time class="now">{new Date(now + offset).toISOString().slice(0, 19).replace('T', ' ')} UTC</time>
        {spanOf(offset) !== '' && (
          <b>
            {spanOf(offset)} {offset > 0 ? 'ahead' : 'behind'}
          </b>
        )}
        <Button onClick={() => advance('1h', HOUR_MS)}>+1 h</Button>
        <Button onClick={() => advance('1d', 24 * HOUR_MS)}>+1 d</Button>
        <Button disabled={next === undefined} title={next} onClick={() => next && set(next)}>
          Until next expiry
        </Button>
        <Form class="buttons" onSend={setTyped}>
          <input name="time" type="datetime-local" step="1" required aria-label="New time in your time zone" />
          <button type="submit">Set</button>
        </Form>
        <Button disabled={offset === 0} onClick={() => move('reset', 'DELETE')}>
          Back
        </Button>
        <span role="status">{removed !== undefined && `removed ${wholeNumber(removed)}`}</span>
      </div>
      <Wrong>{error}</Wrong>
    </section>
  );
}
