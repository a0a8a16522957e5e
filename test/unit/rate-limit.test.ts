import { expect, it, onTestFinished, vi } from 'vitest';
import { createRateLimit } from '../../src/core/rate-limit.ts';

/** Returns a function that counts calls at a time, and returns the number of allowed ones and the last Retry-After. */
function limited(calls: number, ms: number) {
  let at = 0;
  const count = createRateLimit({ calls, ms }, () => at);
  return (time: number, tries: number, application = 'a') => {
    at = time;
    let allowed = 0;
    let retryAfter: number | undefined;
    for (let n = 0; n < tries; n += 1) {
      const problem = count(application);
      if (problem === undefined) allowed += 1;
      else retryAfter = problem.retryAfter;
    }
    return [allowed, retryAfter];
  };
}

it.each([
  ['a full bucket at first', 100, 1000, [[0, 150, 100, 1]]],
  [
    'filled evenly',
    100,
    1000,
    [
      [0, 100, 100, undefined],
      [10, 5, 1, 1],
      [510, 100, 50, 1],
    ],
  ],
  [
    'never more than full',
    100,
    1000,
    [
      [0, 1, 1, undefined],
      [60_000, 300, 100, 1],
    ],
  ],
  [
    'a minute',
    2,
    60_000,
    [
      [0, 3, 2, 30],
      [29_999, 1, 0, 1],
      [30_000, 2, 1, 30],
    ],
  ],
  ['an hour', 1, 3_600_000, [[0, 2, 1, 3600]]],
] as const)('%s', (_what, calls, ms, steps) => {
  const count = limited(calls, ms);
  for (const [time, tries, ...expected] of steps) expect(count(time, tries), `at ${time}`).toEqual(expected);
});

it('ends even when the clock moves back', () => {
  const count = limited(1, 1000);
  expect([count(3_600_000, 2), count(0, 2), count(1000, 2)]).toEqual(Array(3).fill([1, 1]));
});

it('counts each application alone, and forgets those with a full bucket', () => {
  const count = limited(1, 1000);
  expect([count(0, 2, 'a'), count(0, 2, 'b')]).toEqual([
    [1, 1],
    [1, 1],
  ]);
  for (let n = 0; n < 3000; n += 1) expect(count(2000 + n, 1, `n${n}`)).toEqual([1, undefined]);
  expect(count(5000, 2, 'n2999')).toEqual([0, 1]);
});

it('looks through the applications rarely, however many call', () => {
  const count = limited(2, 1000);
  const scans = vi.spyOn(Map.prototype, Symbol.iterator);
  onTestFinished(() => scans.mockRestore());
  for (let n = 0; n < 20_000; n += 1) count(0, 1, `n${n}`);
  expect(scans.mock.calls.length).toBeGreaterThan(0);
  for (let n = 0; n < 20_000; n += 1) count(0, 1, `n${n}`);
  expect(scans.mock.calls.length).toBeLessThan(10);
  // With a full bucket they are forgotten, so the next look comes after a thousand applications again.
  for (let n = 0; n < 20_000; n += 1) count(2000 + n, 1, `m${n}`);
  expect(scans.mock.calls.length).toBeGreaterThan(15);
  expect(scans.mock.calls.length).toBeLessThan(60);
});
