import { expect, test } from 'vitest';
import { resettableVault } from '../../src/vault/resettable.ts';
import type { Vault } from '../../src/vault/vault.ts';

/** Creates a vault that records when it is opened and closed. */
function notingVault(notes: string[]): Vault {
  const vault: Partial<Vault> = {
    file: 'v.db',
    endWaits: () => undefined,
    ready: async () => void notes.push('open'),
    close: async () => void notes.push('close'),
  };
  return vault as Vault;
}

test('a reset waits for other work on the file, and later work waits for the reset', async () => {
  const notes: string[] = [];
  const { during, reopen } = resettableVault(notingVault(notes), async () => notingVault(notes));
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = during(async () => {
    await promise;
    notes.push('first');
  });
  await Promise.resolve();
  const reset = reopen(async () => void notes.push('reset'));
  await new Promise(setImmediate);
  const second = during(async () => void notes.push('second'));
  resolve();
  await Promise.all([first, reset, second]);
  expect(notes).toEqual(['open', 'first', 'close', 'reset', 'open', 'open', 'second']);
});
