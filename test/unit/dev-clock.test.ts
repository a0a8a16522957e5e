import { describe, expect, it } from 'vitest';
import { devClock, movableClock } from '../../src/vault/clock/dev-clock.ts';
import { steppingClock } from '../fixed-world.ts';

const HOUR = 60 * 60 * 1000;
const START = Date.UTC(2026, 2, 1);

/** Creates records that expire and a clock whose moves sweep them. */
function world(...expiries: readonly number[]) {
  const machine = steppingClock(START);
  const clock = movableClock(machine);
  const sweeps: number[] = [];
  let left = expiries;
  const sweep = async () => {
    // Time passes during the sweep.
    machine.advance(1);
    const now = clock.now();
    sweeps.push(now);
    const before = left.length;
    left = left.filter((at) => at > now);
    return before - left.length;
  };
  return { machine, clock, sweeps, dev: devClock(clock, { sweep, nextExpiry: async () => left[0] }), left: () => left };
}

describe('the clock of a --dev vault', () => {
  it('keeps pace with the machine at an offset', async () => {
    const { machine, dev } = world();
    await dev.advance(HOUR);
    machine.advance(5);
    expect([dev.now(), dev.offset()]).toEqual([START + HOUR + 6, HOUR]);
    await dev.set(START + 100);
    const at = dev.now();
    machine.advance(5);
    expect(at).toBeGreaterThanOrEqual(START + 100);
    expect([dev.now(), dev.offset()]).toEqual([at + 5, at - machine.now() + 5]);
    await dev.reset();
    expect([dev.now(), dev.offset()]).toEqual([machine.now(), 0]);
  });

  it('removes expired records after a move and returns their number', async () => {
    const { dev, left } = world(START + HOUR, START + 2 * HOUR, START + 3 * HOUR);
    expect(await dev.advance(HOUR - 2)).toBe(0);
    expect(await dev.advance(0)).toBe(1);
    expect(await dev.set(START + 2 * HOUR - 1)).toBe(1);
    expect(left()).toEqual([START + 3 * HOUR]);
  });

  it('removes expired records at a fixed time before it goes back', async () => {
    const { machine, clock, sweeps, dev, left } = world(START + HOUR + 5, START + HOUR + 6);
    await clock.move(
      () => HOUR,
      async () => undefined,
    );
    machine.advance(5);
    // The first record expired without a sweep, so a reader would not have seen it.
    expect(await dev.reset()).toBe(1);
    expect(sweeps).toEqual([START + HOUR + 5, START + 7]);
    expect(left()).toEqual([START + HOUR + 6]);
  });

  it('keeps its offset and runs on when a move fails', async () => {
    const machine = steppingClock(START);
    const clock = movableClock(machine);
    let broken = false;
    const sweep = async () => {
      if (broken) throw new Error('busy');
      return 0;
    };
    const dev = devClock(clock, { sweep, nextExpiry: async () => undefined });
    await dev.advance(HOUR);
    broken = true;
    await expect(dev.reset()).rejects.toThrow('busy');
    machine.advance(5);
    expect([dev.now(), dev.offset()]).toEqual([START + HOUR + 5, HOUR]);
    broken = false;
    await dev.reset();
    expect(dev.now()).toBe(START + 5);
  });

  it('makes one move at a time', async () => {
    const { dev } = world();
    await Promise.all([dev.advance(1), dev.advance(2), dev.advance(4)]);
    expect(dev.offset()).toBe(7);
  });
});
