import { expect, it } from 'vitest';
import { withClock } from '../../src/vault/open-store.ts';
import { openTestStore } from '../test-store.ts';

it('a store is not ready when the time of the database is older than 30 seconds', async () => {
  let age = 29_999;
  let stopped = false;
  const stop = () => {
    stopped = true;
  };
  const clock = { now: () => 0, age: () => age, stop };
  const store = withClock(await openTestStore(), clock);
  await store.ping();
  age = 30_001;
  await expect(store.ping()).rejects.toMatchObject({ code: 'vault_busy', retryAfter: 1 });
  age = 0;
  await store.ping();
  await store.close();
  expect(stopped).toBe(true);
});
