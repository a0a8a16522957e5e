import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClockStart, MACHINE, systemClock } from '../../src/vault/clock/system-clock.ts';

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, y: 365 * 86_400_000 } as const;
const START = Date.UTC(2026, 2, 1);

/** Returns the milliseconds of `-3h`, `1d2s` or `0`. */
function span(text: string): number {
  const parts = text.matchAll(/(\d+)([smhdy])/g);
  const sum = [...parts].reduce(
    (total, [, count, unit]) => total + Number(count) * UNITS[unit as keyof typeof UNITS],
    0,
  );
  return text.startsWith('-') ? -sum : sum;
}

/**
 * Creates a clock on three simulated sources and reads it after each step: `5m` lets five minutes pass, `+3y` and `-3h`
 * set the wall clock, `~8h` is a sleep, `^2h` raises the floor to two hours after the start.
 */
function clockOf(start: ClockStart = {}) {
  let [wall, running, asleep] = [START, 0, 0];
  const times = { wall: () => wall, running: () => running, asleep: () => asleep };
  const clock = systemClock({ ...start, times });
  const kinds: Readonly<Record<string, (ms: number) => void>> = {
    '+': (ms) => {
      wall += ms;
    },
    '-': (ms) => {
      wall += ms;
    },
    '~': (ms) => {
      wall += ms;
      asleep += ms;
    },
    '^': (ms) => clock.raiseFloor(START + ms),
  };
  function pass(ms: number) {
    wall += ms;
    running += ms;
  }
  return {
    clock,
    wall: () => wall,
    do(step: string) {
      (kinds[step.charAt(0)] ?? pass)(span(step));
      clock.now();
    },
  };
}

interface Expected {
  /** Times after the start. */
  readonly now: string;
  /** Default: `now`. */
  readonly cutoff?: string;
  /** Default: `now`. `none` without a settled time. */
  readonly settled?: string;
  /** The kind of the doubt. Default: none. */
  readonly doubt?: 'jump' | 'start';
}

function shows({ clock }: ReturnType<typeof clockOf>, { now, cutoff = now, settled = now, doubt }: Expected) {
  const found = clock.doubt();
  expect({
    now: clock.now() - START,
    cutoff: clock.cutoff() - START,
    settled: clock.settled() === 0 ? 'none' : clock.settled() - START,
    doubt: found && (found.isJump ? 'jump' : 'start'),
  }).toEqual({ now: span(now), cutoff: span(cutoff), settled: settled === 'none' ? 'none' : span(settled), doubt });
}

describe('the clock of a running process', () => {
  it.each<[string, string, Expected]>([
    ['follows the wall clock', '1m', { now: '1m' }],
    ['accepts a step of an hour', '1m +1h', { now: '1h1m' }],
    ['waits after a step back', '30m -20m 5m', { now: '30m' }],
    ['goes on after a step back', '30m -20m 25m', { now: '35m' }],
    [
      'goes on by running time after a jump',
      '1m +1h1s 10m',
      { now: '11m', cutoff: '1h11m1s', settled: '1m', doubt: 'jump' },
    ],
    [
      'goes on by running time after three years',
      '1m +3y 2s',
      { now: '1m2s', cutoff: '3y1m2s', settled: '1m', doubt: 'jump' },
    ],
    ['goes on by running time after a jump back', '5h -3h 2s', { now: '5h2s', settled: '5h', doubt: 'jump' }],
    ['ends the doubt when three years are taken back', '1m +3y 2s -3y', { now: '1m2s' }],
    ['ends the doubt when three hours are taken back', '1m +3h 2s -3h 5s', { now: '1m7s' }],
    ['ends the doubt when three lost hours return', '5h -3h 2s +3h', { now: '5h2s' }],
    ['ends the doubt within an hour of its time', '1m +3y -3y +1h', { now: '1h1m' }],
    [
      'keeps the doubt beyond an hour of its time',
      '1m +3h -1h',
      { now: '1m', cutoff: '2h1m', settled: '1m', doubt: 'jump' },
    ],
    ['keeps the doubt for an hour', '1m +3h 59m59s', { now: '1h59s', cutoff: '4h59s', settled: '1m', doubt: 'jump' }],
    ['accepts the new time after an hour', '1m +3h 1h', { now: '4h1m' }],
    [
      'starts the hour again with another jump',
      '+3h 50m +5h 50m',
      { now: '1h40m', cutoff: '9h40m', settled: '0', doubt: 'jump' },
    ],
    ['accepts the time of the last jump', '+3h 50m +5h 1h', { now: '9h50m' }],
    ['follows the wall clock back after an hour', '5h -3h 1h', { now: '3h' }],
    ['does not go back below the floor', '5h ^4h -3h 1h', { now: '4h', settled: '3h' }],
    ['goes on above the floor', '5h ^4h -3h 3h', { now: '5h' }],
    ['follows the wall clock back after a settled mistake', '1m +3y 1h -3y 1h 1m', { now: '2h2m' }],
    ['takes sleep for time', '1m ~8h', { now: '8h1m' }],
    ['takes sleep for time after many short ones', '~50m ~50m ~50m 1m', { now: '2h31m' }],
    [
      'tells a jump after sleep',
      '~50m ~50m ~50m +2h',
      { now: '2h30m', cutoff: '4h30m', settled: '2h30m', doubt: 'jump' },
    ],
    ['takes sleep for time during a doubt', '+3y ~10m', { now: '10m', cutoff: '3y10m', settled: '0', doubt: 'jump' }],
    ['lets a doubt end in sleep', '+3h ~1h', { now: '4h' }],
  ])('%s: %s', (_name, steps, expected) => {
    const world = clockOf();
    for (const step of steps.split(' ')) world.do(step);
    shows(world, expected);
  });

  it('takes a sleep that its sources do not tell for a jump', () => {
    let [wall, running] = [START, 0];
    const clock = systemClock({ times: { wall: () => wall, running: () => running } });
    wall += 8 * UNITS.h;
    running += 1;
    expect([clock.now(), clock.doubt()]).toEqual([
      START + 1,
      { isJump: true, until: UNITS.h + 1, ends_at: wall + UNITS.h },
    ]);
  });
});

describe('the clock after a start far from the note', () => {
  it.each<[string, string, Expected]>([
    ['goes by the wall clock', '1m', { now: '1m', settled: 'none', doubt: 'start' }],
    ['is settled after the doubt', '40m', { now: '40m' }],
    ['follows the wall clock back', '1m -3h 1m', { now: '-2h58m', settled: 'none', doubt: 'start' }],
    ['does not follow it back by an hour', '1m -1h 1m', { now: '1m', settled: 'none', doubt: 'start' }],
    ['does not go back below the floor', '1m -3d', { now: '-2d', settled: 'none', doubt: 'start' }],
    ['starts the hour again with a jump', '10m +3h 59m', { now: '4h9m', settled: 'none', doubt: 'start' }],
    ['is settled an hour after a jump', '10m +3h 1h', { now: '4h10m' }],
    ['follows a jump ahead and back', '1m +3y 2s -3y', { now: '1m2s', settled: 'none', doubt: 'start' }],
    ['is settled at once near the note', '1m +9d 1s', { now: '9d1m1s' }],
    ['is settled at once near an earlier note', '1m -7d 1s', { now: '-2d', settled: '-6d23h58m59s' }],
    ['notices a jump after the doubt', '40m +3h', { now: '40m', cutoff: '3h40m', settled: '40m', doubt: 'jump' }],
  ])('%s: %s', (_name, steps, expected) => {
    const isTrusted = (wall: number) => [-7, 9].some((day) => Math.abs(wall - START - day * UNITS.d) <= UNITS.d);
    const world = clockOf({ floor: START - 2 * UNITS.d, doubt: 40 * UNITS.m, isTrusted });
    for (const step of steps.split(' ')) world.do(step);
    shows(world, expected);
  });

  it('never starts before its floor', () => {
    const world = clockOf({ floor: START + UNITS.h });
    shows(world, { now: '1h', settled: '0' });
    world.do('1h');
    world.do('1s');
    shows(world, { now: '1h1s' });
  });
});

const SPANS = fc.constantFrom('2s', '1m', '30m', '2h', '1d', '3y');
const STEPS = fc.array(fc.tuple(fc.constantFrom('', '', '', '+', '-', '~'), SPANS), { maxLength: 40 });

describe('for any steps', () => {
  it('nothing that ended by settled time returns, and an hour ends each doubt', () => {
    const check = fc.property(STEPS, (steps) => {
      const world = clockOf();
      const { clock } = world;
      let settled = 0;
      for (const [kind, ms] of steps) {
        world.do(`${kind}${ms}`);
        settled = Math.max(settled, clock.settled());
        // The sweeper does this every minute. Here, a record ends in every millisecond.
        clock.raiseFloor(settled);
        expect(clock.now()).toBeGreaterThanOrEqual(settled);
        expect(clock.cutoff()).toBe(Math.max(clock.now(), world.wall()));
        if (clock.doubt() === undefined) expect(clock.cutoff()).toBe(clock.now());
      }
      world.do('1h');
      expect(clock.doubt()).toBeUndefined();
    });
    fc.assert(check, { numRuns: 1000 });
  });

  it('a jump that is taken back leaves no trace', () => {
    const check = fc.property(STEPS, (steps) => {
      const [plain, jumped] = [clockOf(), clockOf()];
      for (const [kind, ms] of steps.filter(([one]) => one === '' || one === '~')) {
        for (const world of [plain, jumped]) world.do(`${kind}${ms}`);
        for (const step of ['+3y', '2s', '-3y']) jumped.do(step);
        plain.do('2s');
        expect([jumped.clock.now(), jumped.clock.settled()]).toEqual([plain.clock.now(), plain.clock.settled()]);
      }
    });
    fc.assert(check, { numRuns: 1000 });
  });
});

it('knows the sleep of this machine', () => {
  const slept = MACHINE.asleep();
  expect(Math.abs(MACHINE.asleep() - slept)).toBeLessThan(1000);
});
