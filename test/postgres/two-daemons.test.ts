import { expect, it } from 'vitest';
import { fuzz } from '../checks/model-fuzz.ts';
import { APPLICANTS } from '../checks/permission-applicants.ts';
import { runMatrix } from '../checks/permission-run.ts';
import type { OpenStores } from '../checks/start-daemons.ts';
import { createDatabase } from './create-database.ts';
import { openTwice } from './open-twice.ts';

// Samples of the checks 23 and 33 of test/checks/store/, which also have negative controls.

const openStores: OpenStores = async (...parts) => openTwice(`${await createDatabase()}?sslmode=disable`, ...parts);

it('two daemons, a file and the model agree on 400 random calls', { timeout: 120_000 }, async () => {
  const { figures, differences } = await fuzz({ seed: 3, steps: 400, openStores });
  expect(differences).toEqual([]);
  expect(figures).toMatchObject({ steps: 400, server_errors: 0 });
});

it('two daemons answer the cells of the permission matrix', { timeout: 120_000 }, async () => {
  const applicants = APPLICANTS.filter((_, index) => index % 45 === 0);
  const { cells, ...result } = await runMatrix({
    seed: 1,
    overHttp: true,
    openStores,
    applicants,
    keep: ({ state }, index) => index % (state === 'good' ? 2 : 40) === 0,
  });
  expect(cells).toBeGreaterThanOrEqual(200);
  expect(result).toMatchObject({ wrong: [], foreign: 0 });
});
