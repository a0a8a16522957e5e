import { mock } from 'node:test';
import { expect, it, onTestFinished, vi } from 'vitest';

const load = () => import('../../src/core/timers.ts');

it.each([
  ['setTimeout', 'setTimeout'],
  ['setInterval', 'setInterval'],
  ['setImmediate', 'setImmediate'],
] as const)('is not loaded while node:test mocks %s, whose original nothing else can reach', async (_name, api) => {
  vi.resetModules();
  mock.timers.enable({ apis: [api] });
  onTestFinished(() => mock.timers.reset());
  await expect(load()).rejects.toThrow('import token-vault before mock.timers.enable()');
});

it('is loaded while node:test mocks the date alone, and reads the machine', async () => {
  vi.resetModules();
  const before = Date.now();
  mock.timers.enable({ apis: ['Date'], now: 0 });
  onTestFinished(() => mock.timers.reset());
  const { wallTime } = await load();
  expect(Date.now()).toBe(0);
  expect(wallTime()).toBeGreaterThanOrEqual(before);
});
