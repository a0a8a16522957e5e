import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startDatabaseClock } from '../../src/vault/clock/database-clock.ts';
import { systemClock } from '../../src/vault/clock/system-clock.ts';
import { withClock } from '../../src/vault/open-store.ts';
import { fakeableTimers } from '../fakeable-timers.ts';
import { openTestStore } from '../test-store.ts';

fakeableTimers();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * A clock whose database is `ahead` of the running time. `trip` is the time from the database's answer to its arrival.
 */
async function fakeClock() {
  const world = { running: 1000, ahead: 5000, trip: 0, fails: false };
  const clock = await startDatabaseClock(
    async () => {
      if (world.fails) throw new Error('lost');
      const answer = world.running + world.ahead;
      world.running += world.trip;
      return answer;
    },
    () => world.running,
  );
  onTestFinished(() => clock.stop());
  return { world, clock };
}

it("is the database's, by the sample with the shortest round trip of the last eight", async () => {
  const { world, clock } = await fakeClock();
  expect(clock.now()).toBe(6000);
  world.trip = 400;
  for (let second = 0; second < 7; second++) await vi.advanceTimersByTimeAsync(1000);
  expect(clock.now() - world.running).toBe(5000);
  await vi.advanceTimersByTimeAsync(1000);
  expect(clock.now() - world.running).toBe(4800);
});

it('follows a clock that was set with the next sample', async () => {
  const { world, clock } = await fakeClock();
  world.trip = 400;
  for (const ahead of [3_600_000, 5000]) {
    world.ahead = ahead;
    await vi.advanceTimersByTimeAsync(1000);
    expect(clock.now() - world.running).toBe(ahead - 200);
  }
});

it('is the wall clock of a vault, which goes on by running time after a jump', async () => {
  const { world, clock } = await fakeClock();
  const vault = systemClock({ times: { wall: clock.now, running: () => world.running } });
  const before = vault.now() - world.running;
  for (const [ahead, isDoubted] of [
    [10_800_000, true],
    [5000, false],
    [-10_800_000, true],
    [5000, false],
  ] as const) {
    world.running += 1000;
    world.ahead = ahead;
    await vi.advanceTimersByTimeAsync(1000);
    expect([vault.now() - world.running, vault.doubt() !== undefined]).toEqual([before, isDoubted]);
  }
});

it('continues without samples, and shows their age', async () => {
  const { world, clock } = await fakeClock();
  world.fails = true;
  world.running += 40_000;
  await vi.advanceTimersByTimeAsync(5000);
  expect([clock.now(), clock.age()]).toEqual([46_000, 40_000]);
  world.fails = false;
  await vi.advanceTimersByTimeAsync(1000);
  expect(clock.age()).toBe(0);
});

it('makes a store not ready when its samples are older than 30 seconds, and stops with the store', async () => {
  const { world, clock } = await fakeClock();
  const stop = vi.fn(clock.stop);
  const store = withClock(await openTestStore(), { ...clock, stop });
  world.running += 30_000;
  await store.ping();
  world.running += 1;
  await expect(store.ping()).rejects.toMatchObject({ code: 'vault_busy', retryAfter: 1 });
  await vi.advanceTimersByTimeAsync(1000);
  await store.ping();
  await store.close();
  expect(stop).toHaveBeenCalledOnce();
});
