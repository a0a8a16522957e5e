import { expect, it } from 'vitest';
import { loadedOnce } from '../../src/core/loaded-once.ts';

it('loadedOnce loads on the first call, and again only after a failure', async () => {
  let tries = 0;
  const load = loadedOnce(async () => {
    tries += 1;
    if (tries === 1) throw new Error('EMFILE');
    return tries;
  });
  expect(tries).toBe(0);
  await expect(load()).rejects.toThrow('EMFILE');
  expect(await Promise.all([load(), load()])).toEqual([2, 2]);
  expect(await load()).toBe(2);
});
