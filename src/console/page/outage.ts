import { signal } from '@preact/signals';
import { reload } from './loaded.ts';

/** The time without answers from the console's server or the vault. */
interface Outage {
  readonly reason: string;
  /** Seconds until the next try; 0 during a try. */
  readonly wait: number;
}

export const outage = signal<Outage | undefined>(undefined);

/** Seconds before each try. The last one repeats. */
const WAITS = [2, 4, 8, 15];

let timer = 0;
let retry: (() => void) | undefined;

/** Starts an outage, unless there is one. `isBack` is tried until it resolves to true; then the screen is loaded again. */
export function startOutage(reason: string, isBack: () => Promise<boolean>): void {
  if (outage.peek() !== undefined) return;
  let tries = 0;
  const count = (wait: number) => {
    outage.value = { reason, wait };
    timer = setTimeout(() => (wait > 1 ? count(wait - 1) : void attempt()), 1_000);
  };
  async function attempt(): Promise<void> {
    clearTimeout(timer);
    outage.value = { reason, wait: 0 };
    const back = await isBack();
    if (outage.peek() === undefined) return;
    tries += 1;
    if (!back) return count(WAITS[Math.min(tries, WAITS.length - 1)] ?? 1);
    endOutage();
    reload();
  }
  retry = () => void attempt();
  count(WAITS[0] ?? 1);
}

/** Tries at once. */
export function tryNow(): void {
  retry?.();
}

export function endOutage(): void {
  clearTimeout(timer);
  outage.value = undefined;
}
