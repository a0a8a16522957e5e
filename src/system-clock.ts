import type { Clock } from './core/ports.ts';

/** The machine's clock, never going back while the process lives: what has expired stays expired. */
export function systemClock(): Clock {
  let latest = 0;
  return {
    now: () => {
      latest = Math.max(latest, Date.now());
      return latest;
    },
  };
}
