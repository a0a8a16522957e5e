import { expect, it } from 'vitest';
import { loadedOnce } from '../../src/core/loaded-once.ts';

it('is loaded on the first call, and again only when that failed', async () => {
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
