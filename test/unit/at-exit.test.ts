import { expect, it } from 'vitest';
import { atExit } from '../../src/paths/at-exit.ts';

/** Returns the listeners of `atExit`. Other tests of this process may have left works, and so the listener. */
const own = () => process.listeners('exit').filter(({ name }) => name === 'runAll');

it('atExit runs every work with one listener, and ignores errors', () => {
  const before = own();
  const done: number[] = [];
  const failing = () => {
    throw new Error();
  };
  const cancels = [failing, ...Array.from({ length: 20 }, (_, index) => () => void done.push(index))].map(atExit);
  const added = own().length - before.length;
  // The listener may be left from another test.
  expect([0, 1]).toContain(added);
  if (before.length === 0) expect(added).toBe(1);
  cancels[1]?.();
  for (const listener of own()) listener(0);
  expect(done).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  for (const cancel of cancels) cancel();
  expect(own()).toEqual(before);
});
