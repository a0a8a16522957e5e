import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/vault/system-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 2, 1);

function clockOf({ floor = 0, doubt = 0 } = {}) {
  let wall = START;
  let running = 0;
  const clock = systemClock({ floor, doubt, times: { wall: () => wall, running: () => running } });
  return {
    clock,
    /** Advances both clocks by `real` milliseconds, and the wall clock by `set` more. */
    pass: (real: number, set = 0) => {
      running += real;
      wall += real + set;
    },
  };
}

describe('the system clock', () => {
  it('follows the wall clock and never goes back', () => {
    const { clock, pass } = clockOf();
    expect([clock.now(), clock.settled()]).toEqual([START, START]);
    pass(MINUTE);
    expect([clock.now(), clock.settled()]).toEqual([START + MINUTE, START + MINUTE]);
    pass(MINUTE, -24 * HOUR);
    expect([clock.now(), clock.settled()]).toEqual([START + MINUTE, START + MINUTE]);
  });

  it('never starts before its floor', () => {
    const { clock, pass } = clockOf({ floor: START + HOUR });
    expect([clock.now(), clock.settled()]).toEqual([START + HOUR, START]);
    pass(HOUR + 1);
    expect(clock.now()).toBe(START + HOUR + 1);
  });

  it('has no settled time while its first time is in doubt', () => {
    const { clock, pass } = clockOf({ doubt: 10 * MINUTE });
    expect([clock.now(), clock.settled(), clock.doubtedUntil()]).toEqual([START, 0, START + 10 * MINUTE]);
    pass(10 * MINUTE - 1);
    expect(clock.settled()).toBe(0);
    pass(1);
    expect([clock.settled(), clock.doubtedUntil()]).toEqual([START + 10 * MINUTE, undefined]);
  });

  it('accepts a jump of an hour at once, and a larger one after an hour', () => {
    const { clock, pass } = clockOf();
    pass(0, HOUR);
    expect(clock.settled()).toBe(START + HOUR);
    pass(0, HOUR + 1);
    expect([clock.now(), clock.settled()]).toEqual([START + 2 * HOUR + 1, START + HOUR]);
    pass(HOUR - 1);
    expect(clock.settled()).toBe(START + HOUR);
    pass(1);
    expect(clock.settled()).toBe(START + 3 * HOUR + 1);
  });

  it('never accepts a jump that is undone within an hour, but does not show the correction', () => {
    const { clock, pass } = clockOf();
    pass(0, 1000 * HOUR);
    expect(clock.now()).toBe(START + 1000 * HOUR);
    pass(10 * MINUTE, -1000 * HOUR);
    expect(clock.now()).toBe(START + 1000 * HOUR);
    pass(2 * HOUR);
    expect([clock.now(), clock.settled()]).toEqual([START + 1000 * HOUR, START + 130 * MINUTE]);
  });
});
