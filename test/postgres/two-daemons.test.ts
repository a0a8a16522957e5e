import { expect, it } from 'vitest';
import { fuzz } from '../checks/model-fuzz.ts';
import type { OpenStores } from '../checks/start-daemons.ts';
import { createDatabase } from './create-database.ts';
import { openTwice } from './open-twice.ts';

// A sample of check 23 of test/checks/store/, which also has a negative control.

const openStores: OpenStores = async (...parts) => openTwice(`${await createDatabase()}?sslmode=disable`, ...parts);

it('two daemons, a file and the model agree on 400 random calls', { timeout: 120_000 }, async () => {
  const { figures, differences } = await fuzz({ seed: 3, steps: 400, openStores });
  expect(differences).toEqual([]);
  expect(figures).toMatchObject({ steps: 400, server_errors: 0 });
});
