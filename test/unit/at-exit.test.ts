import { expect, it, vi } from 'vitest';

it('atExit runs every work with one listener, and ignores errors', async () => {
  // Other tests of this worker may have left works in the module.
  vi.resetModules();
  const { atExit } = await import('../../src/paths/at-exit.ts');
  const before = process.listenerCount('exit');
  const done: number[] = [];
  const failing = () => {
    throw new Error();
  };
  const cancels = [failing, ...Array.from({ length: 20 }, (_, index) => () => void done.push(index))].map(atExit);
  expect(process.listenerCount('exit')).toBe(before + 1);
  cancels[1]?.();
  process.listeners('exit').at(-1)?.(0);
  expect(done).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  for (const cancel of cancels) cancel();
  expect(process.listenerCount('exit')).toBe(before);
});
