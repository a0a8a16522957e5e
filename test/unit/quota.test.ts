import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createQuota } from '../../src/core/quota.ts';
import { fakeableTimers } from '../fakeable-timers.ts';

fakeableTimers();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns a quota, a function that takes an amount, and the names of those who got it. */
function recorded(each: number, all: number) {
  const quota = createQuota({ each, all });
  const entered: string[] = [];
  const take = (name: string, amount: number, account = name) => {
    const waiting = quota.take(account, amount);
    if (waiting === undefined) entered.push(name);
    return waiting?.then(() => void entered.push(name));
  };
  const settled = () => vi.advanceTimersByTimeAsync(0);
  return { quota, entered, take, settled };
}

it('callers get their amount in order, as soon as there is room for all', async () => {
  const { quota, entered, take, settled } = recorded(10, 10);
  void take('a', 6);
  void take('b', 5);
  void take('c', 5);
  expect(entered).toEqual(['a']);
  quota.giveBack('a', 6);
  await settled();
  expect(entered).toEqual(['a', 'b', 'c']);
});

it('an account that holds its share does not delay another', async () => {
  const { quota, entered, take, settled } = recorded(5, 20);
  void take('a', 5);
  void take('a', 1);
  void take('b', 5);
  expect(entered).toEqual(['a', 'b']);
  quota.giveBack('a', 5);
  await settled();
  expect(entered).toEqual(['a', 'b', 'a']);
});

it('an amount above the limit waits until its account holds nothing', async () => {
  const { quota, entered, take, settled } = recorded(10, 100);
  void take('a', 50);
  void take('a', 1);
  expect(entered).toEqual(['a']);
  quota.giveBack('a', 50);
  await settled();
  expect(entered).toEqual(['a', 'a']);
});

it('a caller waits 5 s at most, and leaves its place to the next', async () => {
  const { quota, entered, take } = recorded(10, 10);
  void take('a', 10);
  const late = take('b', 8)?.catch((error) => [error.code, error.retryAfter]);
  await vi.advanceTimersByTimeAsync(4_999);
  const next = take('c', 2);
  await vi.advanceTimersByTimeAsync(1);
  expect(await late).toEqual(['vault_busy', 1]);
  quota.giveBack('a', 10);
  await next;
  expect(entered).toEqual(['a', 'c']);
});

it('the amounts of an account keep their order, so that small ones do not starve a large one', async () => {
  const { quota, entered, take: enter } = recorded(10, 100);
  const take = (name: string, amount: number, account = 'a') => enter(name, amount, account);
  void take('first', 1);
  const large = take('large', 10);
  const small = take('small', 1);
  void take('other', 1, 'b');
  expect(entered).toEqual(['first', 'other']);
  quota.giveBack('a', 1);
  await large;
  expect(entered).toEqual(['first', 'other', 'large']);
  quota.giveBack('a', 10);
  await small;

  const late = take('too large', 10)?.catch((error) => error.code);
  const next = take('next', 1);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([await late, await next, entered.at(-1)]).toEqual(['vault_busy', undefined, 'next']);
});
