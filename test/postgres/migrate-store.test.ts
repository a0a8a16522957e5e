import { expect, it } from 'vitest';
import { type Migration, migrateStore } from '../../src/store/postgres/migrate-store.ts';
import { createTestStore, openTestClient } from './lane-fixture.ts';

const ADD: Migration = {
  from: 0,
  serves_from: 1,
  statements: ['ALTER TABLE vault.sweep ADD COLUMN made_up integer NOT NULL DEFAULT 3'],
};
const FAIL: Migration = { ...ADD, statements: [...ADD.statements, 'SELECT 1 FROM vault.no_such_table'] };
const OPTIONS = { dryRun: false, insecure: true };

/** Creates a store and marks its format as an older one. */
async function outdated() {
  const url = await createTestStore();
  const { run } = await openTestClient(url);
  await run({ text: 'UPDATE vault.format SET format = 0, serves_from = 0' });
  const format = async () => (await run({ text: 'SELECT format, serves_from FROM vault.format' }))[0];
  return { url, run, format };
}

it('runs the steps of an older format, once', async () => {
  const { url, run, format } = await outdated();
  const migrations = [ADD];
  expect(await migrateStore(url, { ...OPTIONS, dryRun: true, migrations })).toEqual({ from: 0, to: 1, steps: 1 });
  expect(await format()).toEqual([0, 0]);
  expect(await migrateStore(url, { ...OPTIONS, migrations })).toEqual({ from: 0, to: 1, steps: 1 });
  expect(await format()).toEqual([1, 1]);
  expect(await run({ text: 'SELECT made_up FROM vault.sweep' })).toEqual([[3]]);
  expect(await migrateStore(url, { ...OPTIONS, migrations })).toEqual({ from: 1, to: 1, steps: 0 });
});

it('changes nothing when a step fails, or is unknown', async () => {
  const { url, run, format } = await outdated();
  const rejected = expect(migrateStore(url, { ...OPTIONS, migrations: [FAIL] })).rejects;
  await rejected.toMatchObject({ code: 'store_refused', message: expect.stringContaining('42P01') });
  await expect(migrateStore(url, OPTIONS)).rejects.toMatchObject({ code: 'store_outdated' });
  expect(await format()).toEqual([0, 0]);
  await expect(run({ text: 'SELECT made_up FROM vault.sweep' })).rejects.toMatchObject({ code: '42703' });
});

it('gives up soon when another process holds the lock', async () => {
  const { url, run, format } = await outdated();
  await run({ text: 'BEGIN' });
  await run({ text: 'SELECT 1 FROM vault.format FOR UPDATE' });
  const migrating = migrateStore(url, { ...OPTIONS, migrations: [ADD] });
  await expect(migrating).rejects.toMatchObject({ message: expect.stringContaining('55P03') });
  await run({ text: 'ROLLBACK' });
  expect(await format()).toEqual([0, 0]);
});

it.each([
  ['format = 7, serves_from = 7', 'newer_format'],
  ['format = -1', 'store_missing'],
])('refuses %s with %s', async (format, code) => {
  const { url, run } = await outdated();
  await run({ text: `UPDATE vault.format SET ${format}` });
  await expect(migrateStore(url, OPTIONS)).rejects.toMatchObject({ code });
});
