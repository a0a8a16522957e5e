import { address } from '../route.ts';
import { clock, spanOf, useClock } from './clock-state.ts';

/** Shows on every screen that the clock of the vault was moved. */
export function ClockLine({ isDev }: { readonly isDev: boolean }) {
  useClock(isDev);
  const { offset_ms: offset = 0 } = clock.value ?? {};
  return (
    <p class="clock-line" role="status">
      {spanOf(offset) !== '' && (
        <a href={address('dev')}>
          Clock {spanOf(offset)} {offset > 0 ? 'ahead' : 'behind'}
        </a>
      )}
    </p>
  );
}
