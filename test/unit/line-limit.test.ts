import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLineLimit, MAX_LINES } from '../../src/http/request-log.ts';
import { fakeableTimers } from '../fakeable-timers.ts';

fakeableTimers();

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start() {
  const reported: (readonly [string, number])[] = [];
  const limit = createLineLimit((peer, count) => reported.push([peer, count]));
  const count = (peer: string, times: number) =>
    Array.from({ length: times }, () => limit.count(peer)).filter((isWritten) => isWritten).length;
  return { reported, count, end: limit.end };
}

it('writes 100 lines of an address in a minute, and reports the others at its end', () => {
  const { reported, count } = start();
  expect([count('a', 150), count('b', 100), count('c', 1)]).toEqual([MAX_LINES, MAX_LINES, 1]);
  vi.advanceTimersByTime(59_999);
  expect([count('a', 1), reported]).toEqual([0, []]);
  vi.advanceTimersByTime(1);
  expect(reported).toEqual([['a', 51]]);
  expect(count('a', 1)).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(reported).toHaveLength(1);
});

it('reports early at the end of the process', () => {
  const { reported, count, end } = start();
  count('a', 101);
  end();
  expect(reported).toEqual([['a', 1]]);
});

it('counts many addresses as one, so that its memory is bounded', () => {
  const { reported, count, end } = start();
  for (let peer = 0; peer < 10_000; peer += 1) count(`peer ${peer}`, 1);
  expect(count('late', 100) + count('later', 100)).toBe(MAX_LINES);
  expect(count('peer 7', 1)).toBe(1);
  end();
  expect(reported).toEqual([['others', 100]]);
});
