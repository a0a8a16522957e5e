import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { freeBytes } from '../../src/core/free-bytes.ts';
import { createByteLine } from '../../src/http/byte-line.ts';
import { fakeableTimers } from '../fakeable-timers.ts';

fakeableTimers();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('callers get their bytes in order, as soon as there is room', async () => {
  const line = createByteLine(10, 5);
  const entered: string[] = [];
  const enter = (name: string, bytes: number) => line.enter(bytes).then(() => entered.push(name));
  void enter('a', 6);
  void enter('b', 5);
  void enter('c', 4);
  await vi.advanceTimersByTimeAsync(0);
  expect(entered).toEqual(['a']);
  line.giveBack(6);
  await vi.advanceTimersByTimeAsync(0);
  expect(entered).toEqual(['a', 'b', 'c']);
});

it('a caller that needs more than the limit enters alone', async () => {
  const line = createByteLine(10, 5);
  await line.enter(50);
  const next = vi.fn();
  void line.enter(1).then(next);
  await vi.advanceTimersByTimeAsync(0);
  expect(next).not.toHaveBeenCalled();
  line.giveBack(50);
  await vi.advanceTimersByTimeAsync(0);
  expect(next).toHaveBeenCalledOnce();
});

it('a caller waits 5 s at most, and leaves its place to the next', async () => {
  const line = createByteLine(10, 5);
  await line.enter(10);
  const late = line.enter(8).catch((error) => error.code);
  await vi.advanceTimersByTimeAsync(4_999);
  const next = line.enter(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(await late).toBe('vault_busy');
  line.giveBack(10);
  await next;
});

it('too many callers are rejected at once', async () => {
  const line = createByteLine(10, 1);
  await line.enter(10);
  const waiting = line.enter(1);
  await expect(line.enter(1)).rejects.toThrow('vault_busy');
  line.giveBack(10);
  await waiting;
});

it('long bytes are freed at once, but not those that share their memory', () => {
  const [long, short, whole] = [new Uint8Array(16 * 1024), new Uint8Array(100), new Uint8Array(40_000)];
  freeBytes(long);
  freeBytes(short);
  freeBytes(whole.subarray(10));
  expect([long.length, short.length, whole.length]).toEqual([0, 100, 40_000]);
});
