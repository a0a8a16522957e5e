import { afterAll, beforeAll, onTestFinished, vi } from 'vitest';
import { machineTimers } from '../src/core/timers.ts';

/** Lets fake timers move those of the product, in all tests of the calling file. */
export function fakeableTimers(): void {
  const kept = { ...machineTimers };
  beforeAll(() => {
    Object.assign(machineTimers, {
      setTimeout: (...args: Parameters<typeof setTimeout>) => globalThis.setTimeout(...args),
      clearTimeout: (timer: NodeJS.Timeout) => globalThis.clearTimeout(timer),
      setInterval: (...args: Parameters<typeof setInterval>) => globalThis.setInterval(...args),
      clearInterval: (timer: NodeJS.Timeout) => globalThis.clearInterval(timer),
      setImmediate: (task: () => void) => globalThis.setImmediate(task),
      clearImmediate: (turn: NodeJS.Immediate) => globalThis.clearImmediate(turn),
    });
  });
  afterAll(() => void Object.assign(machineTimers, kept));
}

/** Lets half a second of running time pass at each look at it, so that waits with a deadline end soon. */
export function hurriedTime(): void {
  const started = process.uptime();
  let looks = 0;
  const clock = vi.spyOn(process, 'uptime').mockImplementation(() => started + looks++ / 2);
  onTestFinished(() => clock.mockRestore());
}
