import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../loaded.ts';
import { UNITS } from '../parts/numbers.ts';
import { ask } from '../session.ts';

/** The reply of `GET /dev/clock`. */
export interface ClockState {
  readonly now: string;
  readonly offset_ms: number;
  readonly next_expiry?: string;
  /** The number of records that the last move removed. */
  readonly removed?: number;
}

/** The interval of polling the clock, in milliseconds. Commands may move the clock, too. */
const LOOK_MS = 15_000;

/** The last known state of the vault's clock. */
export const clock = signal<ClockState | undefined>(undefined);

/** Polls the clock of a `--dev` vault while the component is mounted. */
export function useClock(isDev: boolean): void {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    if (!isDev) return;
    const timer = setInterval(() => setLooks((count) => count + 1), LOOK_MS);
    return () => clearInterval(timer);
  }, [isDev]);
  useLoaded(isDev ? `clock ${looks}` : undefined, async (signal) => {
    const seen = await ask<ClockState>('dev/clock', { signal });
    const { removed } = clock.peek() ?? {};
    clock.value = { ...seen, ...(removed !== undefined && { removed }) };
  });
}

/** Formats a duration in its two largest units, which are at most days: `1 d 1 h`. */
export function spanOf(ms: number): string {
  let remaining = Math.round(Math.abs(ms) / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [, unit, size] of UNITS.slice(2)) {
    const count = Math.floor(remaining / size);
    remaining -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ');
}
