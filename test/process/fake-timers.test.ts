import { runInNewContext } from 'node:vm';
import { afterEach, expect, it, vi } from 'vitest';

const FAR = Date.parse('2040-01-01T00:00:00Z');

// Fakes come before the first import: the product must not capture them. Other files share the modules of this worker.
vi.resetModules();
vi.useFakeTimers({ now: FAR });
const { startVault } = await import('../../src/testing/start-vault.ts');
vi.useRealTimers();

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Returns how far a time is from the machine's clock, in milliseconds. The realm has a `Date` that no test mocks. */
const fromNow = (time: Date) => Math.abs(time.getTime() - runInNewContext('Date.now()'));

/** Mocks the class as many tests do: each `new Date(…)` is the same date. */
function mockDate(): void {
  const only = new Date(FAR);
  vi.spyOn(globalThis, 'Date').mockImplementation(function one() {
    return only;
  });
}

const FAKES: readonly (readonly [string, () => void])[] = [
  ['all timers and the date', () => void vi.useFakeTimers({ now: FAR })],
  ['queueMicrotask alone', () => void vi.useFakeTimers({ toFake: ['queueMicrotask'] })],
  ['performance', () => void vi.useFakeTimers({ toFake: ['performance', 'Date'], now: FAR })],
  ['the date alone', () => void vi.setSystemTime(FAR)],
  ['a spied Date.now', () => void vi.spyOn(Date, 'now').mockReturnValue(FAR)],
  ['a class Date with one time', mockDate],
];

const MODES = ['in-process', 'child'] as const;
it.each(MODES.flatMap((mode) => FAKES.map(([name, fake]) => ({ mode, name, fake }))))(
  'a vault $mode answers, keeps its clock, resets and stops under fakes: $name',
  { timeout: 30_000 },
  async ({ mode, fake }) => {
    fake();
    const vault = await startVault({ mode });
    const { id } = await vault.client.createToken({ body: { type: 'token', data: 'x'.repeat(50_000) } });
    expect(await vault.client.getToken({ params: { id } })).toMatchObject({ id });
    expect(fromNow(await vault.clock.now())).toBeLessThan(10_000);
    await vault.clock.advance(25 * 3_600_000);
    expect(fromNow(await vault.clock.now())).toBeGreaterThan(24 * 3_600_000);
    await vault.faults.set({ request: 'GET /tokens', delay_ms: 5 });
    await vault.reset();
    expect(await vault.client.listTokens()).toMatchObject({ data: [] });
    expect(fromNow(await vault.clock.now())).toBeLessThan(10_000);
    await vault.stop();
  },
);
