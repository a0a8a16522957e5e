import { expect, it } from 'vitest';

/** Returns the listeners of `atExit`. Other tests of this process may have left works, and so a listener. */
const own = () => process.listeners('exit').filter(({ name }) => name === 'runAll');

it('atExit runs every work with one listener, and ignores errors', async () => {
  const before = own();
  // An instance of the module without the works of others.
  const path = '../../src/paths/at-exit.ts?alone';
  const { atExit } = (await import(path)) as typeof import('../../src/paths/at-exit.ts');
  const done: number[] = [];
  const failing = () => {
    throw new Error();
  };
  const cancels = [failing, ...Array.from({ length: 20 }, (_, index) => () => void done.push(index))].map(atExit);
  const added = own().filter((listener) => !before.includes(listener));
  expect(added).toHaveLength(1);
  cancels[1]?.();
  for (const listener of added) listener(0);
  expect(done).toEqual(Array.from({ length: 19 }, (_, index) => index + 1));
  for (const cancel of cancels) cancel();
  expect(own()).toEqual(before);
});
