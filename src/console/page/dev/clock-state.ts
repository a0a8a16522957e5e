import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { askDev } from './ask-dev.ts';

/** What `GET /dev/clock` answers. */
export interface ClockState {
  readonly now: string;
  readonly offset_ms: number;
  readonly next_expiry?: string;
  /** Records that a move removed. */
  readonly removed?: number;
}

/** Milliseconds between looks: a command may move the clock, too. */
const LOOK_MS = 15_000;

/** The clock of the vault as it was last seen. */
export const clock = signal<ClockState | undefined>(undefined);

/** Follows the clock of a `--dev` vault while the component is mounted. */
export function useClock(isDev: boolean): void {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    if (!isDev) return;
    const timer = setInterval(() => setLooks((count) => count + 1), LOOK_MS);
    return () => clearInterval(timer);
  }, [isDev]);
  useLoaded(isDev ? `clock ${looks}` : undefined, async (signal) => {
    const seen = await askDev<ClockState>('GET', 'clock', undefined, signal);
    const { removed } = clock.peek() ?? {};
    clock.value = { ...seen, ...(removed !== undefined && { removed }) };
  });
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** Returns a duration in its two largest units: `1 d 1 h`. */
export function spanOf(ms: number): string {
  let left = Math.round(Math.abs(ms) / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ');
}
