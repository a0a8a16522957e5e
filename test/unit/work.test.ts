import { afterEach, expect, it, vi } from 'vitest';
import { budgetFor } from '../../src/core/expressions/limits.ts';
import { createQuota } from '../../src/core/quota.ts';
import { runSteps, settled } from '../../src/core/steps.ts';
import { Work } from '../../src/core/work.ts';

afterEach(() => vi.restoreAllMocks());

const KIB = 1024;
const quotaOf = (each: number) => createQuota({ each, all: 10 * each });

it('long work of one call ends after 5 s of its own slices', async () => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const work = new Work('a', quotaOf(1));
  let slices = 0;
  const all = async () => {
    for (;;) {
      await work.own();
      slices += 1;
      seconds += 1;
    }
  };
  await expect(all()).rejects.toMatchObject({ code: 'too_expensive' });
  expect(slices).toBe(6);
  expect(work.spent).toBe(6_000);
});

it('time outside of the slices of a call does not count', async () => {
  let seconds = 1;
  vi.spyOn(process, 'uptime').mockImplementation(() => seconds);
  const work = new Work('a', quotaOf(1));
  for (let n = 0; n < 10; n += 1) {
    const slice = work.own();
    seconds += 3;
    await slice;
  }
  expect(work.spent).toBe(0);
});

it('long work ends when its client has left', async () => {
  let isAbandoned = false;
  const work = new Work('a', quotaOf(1), () => isAbandoned);
  await work.own();
  isAbandoned = true;
  await expect(work.own()).rejects.toMatchObject({ code: 'request_timeout' });
});

it('all expressions of a call share a budget of about two seconds', () => {
  const { steps } = new Work('a', quotaOf(1));
  for (let n = 0; n < 400; n += 1) steps.spend(64 * KIB);
  expect(() => steps.spend(1)).toThrow('takes too much work');
});

it('an expression spends from the budget of its call', () => {
  const { steps } = new Work('a', quotaOf(1));
  steps.spend(400 * 64 * KIB - 10);
  const own = budgetFor('1', steps);
  own.spend(10);
  expect(() => own.spend(1)).toThrow('takes too much work');
});

it('the bytes of a large reply count until it is sent, those of a small one do not', () => {
  const replies = quotaOf(100 * KIB);
  const [first, small, second] = [1, 2, 3].map(() => new Work('a', replies));
  expect(first?.hold(100 * KIB)).toBeUndefined();
  expect(small?.hold(64 * KIB)).toBeUndefined();
  expect([first?.isHeld, small?.isHeld]).toEqual([true, false]);
  expect(new Work('b', replies).hold(100 * KIB)).toBeUndefined();
  const waiting = second?.hold(65 * KIB);
  expect(waiting).toBeInstanceOf(Promise);
  first?.release();
  return waiting;
});

it('a reply that becomes shorter gives its bytes back', () => {
  const replies = quotaOf(100 * KIB);
  const work = new Work('a', replies);
  work.hold(100 * KIB);
  work.hold(70 * KIB);
  expect(replies.take('a', 30 * KIB)).toBeUndefined();
  work.hold(KIB);
  expect(replies.take('a', 70 * KIB)).toBeUndefined();
});

it('values are read only when there is room for the largest', async () => {
  const replies = quotaOf(100 * KIB);
  const other = new Work('a', replies);
  other.hold(80 * KIB);
  const work = new Work('a', replies);
  const read = vi.fn(() => settled('values'));
  const reading = runSteps(work.readHeld(100 * KIB, read, () => 70 * KIB));
  expect(read).not.toHaveBeenCalled();
  other.release();
  expect(await reading).toBe('values');
  expect(replies.take('a', 30 * KIB)).toBeUndefined();
});

it('values that must wait for others are read again', async () => {
  const replies = createQuota({ each: 100 * KIB, all: 150 * KIB });
  const other = new Work('b', replies);
  other.hold(100 * KIB);
  const read = vi.fn(() => settled('values'));
  const reading = runSteps(new Work('a', replies).readHeld(100 * KIB, read, () => 100 * KIB));
  expect(read).toHaveBeenCalledTimes(1);
  other.release();
  expect(await reading).toBe('values');
  expect(read).toHaveBeenCalledTimes(2);
});

it('replies that become longer do not wait for each other', () => {
  const replies = quotaOf(200 * KIB);
  const works = ['a', 'a'].map((account) => new Work(account, replies));
  for (const work of works) expect(work.hold(100 * KIB)).toBeUndefined();
  for (const work of works) expect(work.hold(110 * KIB)).toBeUndefined();
  for (const work of works) work.release();
  expect(replies.take('a', 200 * KIB)).toBeUndefined();
});

it('a call whose client left while it waited for room ends, and gives the room back', async () => {
  const replies = quotaOf(100 * KIB);
  const other = new Work('a', replies);
  other.hold(100 * KIB);
  let isAbandoned = false;
  const work = new Work('a', replies, () => isAbandoned);
  const waiting = work.hold(100 * KIB);
  isAbandoned = true;
  other.release();
  await expect(waiting).rejects.toMatchObject({ code: 'request_timeout' });
  work.release();
  expect(replies.take('a', 100 * KIB)).toBeUndefined();
});

it('calls that get room at the same time begin in turns of their own', async () => {
  const replies = quotaOf(1024 * KIB);
  const other = new Work('a', replies);
  other.hold(1024 * KIB);
  let turn = 0;
  const began: number[] = [];
  const waiting = Array.from({ length: 8 }, async () => {
    await new Work('a', replies).hold(100 * KIB);
    began.push(turn);
  });
  other.release();
  for (; began.length < waiting.length; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(new Set(began).size).toBe(waiting.length);
});
