import { expect, it } from 'vitest';
import { Problem } from '../../src/core/problem.ts';
import { toPgError, toProblem } from '../../src/store/postgres/pg-error.ts';
import { watchWrites } from '../../src/vault/write-watch.ts';
import { openTestStore } from '../test-store.ts';
import { openTestVault } from '../test-vault.ts';

const NOW = Date.UTC(2031, 0, 1);
const tooMany = () => toProblem(toPgError(Object.assign(new Error('x'), { code: '53300' })), 'write');

it.each([
  ['disk_error', () => new Problem('disk_error')],
  ['read_only', () => new Problem('read_only')],
  ['vault_busy', tooMany],
])('a store is not writable after a write that fails with %s, until one succeeds', async (code, fail) => {
  let now = NOW;
  let failure: Problem | undefined;
  const file = await openTestStore();
  const removeOldReplies = async () => {
    if (failure !== undefined) throw failure;
    return 0;
  };
  const { store, assertWritable } = watchWrites({ ...file, removeOldReplies }, () => now);
  assertWritable();
  failure = fail();
  for (const at of [NOW, NOW + 5000]) {
    now = at;
    await expect(store.removeOldReplies(0, 1)).rejects.toBe(failure);
    const detail = 'Writes fail since 2031-01-01T00:00:00.000Z.';
    expect(assertWritable).toThrow(expect.objectContaining({ code, status: 503, detail }));
  }
  await store.listTenantIds();
  expect(assertWritable).toThrow();
  failure = undefined;
  await store.removeOldReplies(0, 1);
  assertWritable();
});

it.each(['no_space', 'vault_busy', 'write_conflict', 'integrity_failure'] as const)(
  'a write that fails with %s changes nothing',
  async (code) => {
    const removeOldReplies = () => Promise.reject(new Problem(code));
    const { store, assertWritable } = watchWrites({ ...(await openTestStore()), removeOldReplies }, () => NOW);
    await expect(store.removeOldReplies(0, 1)).rejects.toMatchObject({ code });
    assertWritable();
  },
);

it('the figures of a vault, for metrics, report whether writes succeed', async () => {
  let fails = false;
  const { vault } = await openTestVault('seed', {
    storeOf: (file) => ({
      ...file,
      insertApplication: (...values) =>
        fails ? Promise.reject(new Problem('disk_error')) : file.insertApplication(...values),
    }),
  });
  const isWritable = async () => (await vault.figures()).writable;
  expect(await isWritable()).toBe(true);
  fails = true;
  await expect(vault.issueKey(undefined)).rejects.toMatchObject({ code: 'disk_error' });
  expect(await isWritable()).toBe(false);
  fails = false;
  await vault.issueKey(undefined);
  expect(await isWritable()).toBe(true);
});
